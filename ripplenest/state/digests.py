"""Batches and loads are known by what they say: whether one was applied before, and whether it was this one."""

import hashlib
from collections.abc import Callable, Collection, Sequence

from ripplenest.data.content import Content
from ripplenest.errors import BatchConflict, BatchGap
from ripplenest.intake.operations import FORMS, LOADS, Form, Operation, content, is_spread, loaded_content
from ripplenest.schema.relation import Relation
from ripplenest.state.report import Report
from ripplenest.store.specs import Applied, Standing

SPREAD = FORMS[0]
DIGITS = 8  # of a digest, in messages


def digest_of(operations: Sequence[Operation], form: Form = FORMS[0]) -> str:
    """That of operations. Those that write so many rows that they are known by sums say so: no release before this one
    gave them such a digest."""
    told = form == LOADS or (form == SPREAD and any(map(is_spread, operations)))
    return _sealed(content(operations, form), form if told else None)


def loaded_digest(r: Relation, content: Content) -> str:
    """That of a load of these rows."""
    return _sealed(loaded_content(r.name, content), LOADS)


def _sealed(text: str, form: Form | None) -> str:
    found = hashlib.sha256(text.encode()).hexdigest()
    return found if form is None else f"{form} {found}"


def is_older(applied: Applied | None) -> bool:
    """Whether a load has a digest of an earlier release, which no sums are compared with."""
    return applied is not None and not applied.digest.startswith(f"{LOADS} ")


def is_same(applied: Applied, digest: str, operations: Sequence[Operation]) -> bool:
    """Whether ``operations``, which have ``digest``, were applied, perhaps by a release with digests of its own. Rows
    that are with several processes come here for that, unless this release has applied what there is."""
    if applied.digest == digest or applied.digest.startswith(f"{SPREAD} "):
        return applied.digest == digest
    return any(applied.digest == digest_of(operations, form) for form in FORMS)


def repeated(
    source: str,
    seq: int,
    digest: str,
    operations: Sequence[Operation],
    standing: Standing,
    altered: Callable[[Collection[str], int], Sequence[str]],
) -> Report | None:
    """The report of a batch that was applied before. Raises BatchConflict, which says how some relations were
    ``altered`` since a version, or BatchGap."""
    where, applied, last = f"batch {source}:{seq}", standing.batch, standing.last
    if applied is not None and not is_same(applied, digest, operations):
        other = f"for other rows the next batch, {source}:{(seq if last is None else last) + 1}"
        since = altered({o.relation for o in operations}, applied.version)
        if since:
            what = "this batch was applied before its rows got other fields, so nobody can tell whether it is the same"
            got = f"version {applied.version}, and since then {', '.join(since)}"
            raise BatchConflict(what, where=where, got=got, possible=["nothing, if it is", other])
        what = "this batch was applied with other content"
        possible = [f"to retry it the same rows again (digest {applied.digest[:DIGITS]})", other]
        raise BatchConflict(what, where=where, got=f"rows of digest {digest[:DIGITS]}", possible=possible)
    if applied is None and last is not None and seq != last + 1:
        possible = [f"db.sources[{source!r}] + 1"]
        what = "batches of a source come one after another"
        raise BatchGap(what, where=where, wanted=last + 1, got=seq, possible=possible)
    return None if applied is None else Report(applied.version, source, seq, applied=False)
