"""Definition 2 (nrc-ivm, appendix C.3) on what a batch is about to do, looking only at what it touches.

The operations of a batch promise a consistent update: whoever adds a row with an inner bag adds its label and its rows,
whoever takes one away takes both. Here the promise is checked on the signed rows that came of it, before anything is
committed. Every lookup is by an access key that parts have anyway, or finds what the operations have read already, so
that a batch still costs what the change costs. The state before the batch is taken to be consistent (definition 1,
which ``verify`` looks at whole).

Consistency is checked twice. Definition 2 on the signed rows of every load and batch, looking only at what they touch
(``ripplenest/intake/consistent.py``); definition 1, and every map against its definition, in ``verify``. States that
were written before relations and views said how they are kept open as if they had said nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ripplenest.data.rows import Row
from ripplenest.nrc.errors import LawBroken
from ripplenest.schema.relation import Holder, Part, Relation
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Found, Overlay

POSSIBLE = ("Database.verify() says whether the state was consistent before",)


def check_update(r: Relation, overlay: Overlay) -> None:
    """The changes of the parts of ``r`` are a consistent update, and leave no row there less than 0 times.

    After the batch each label that it touches is held by one row, or else has no rows. Raises LawBroken, which is a
    defect of ours or a state that was damaged.
    """
    for name, holder in r.holders.items():
        for fault in _labels(r, holder, r.parts[name], overlay):
            raise _broken(name, fault)
    for name, part in r.parts.items():
        for fault in _counts(part, overlay):
            raise _broken(name, fault)


def _broken(part: str, what: str) -> LawBroken:
    return LawBroken(f"not a consistent update: {what} (nrc-ivm, definition 2)", where=part, possible=POSSIBLE)


def _labels(r: Relation, holder: Holder, part: Part, overlay: Overlay) -> Iterator[str]:
    """What is wrong with the labels of the dictionary ``part`` whose rows or whose holders change."""
    moved = _held(holder, overlay.changed(holder.part.name))
    gained = (row[: len(part.label)] for row in overlay.changed(part.name))
    touched = list(dict.fromkeys((*moved, *gained)))
    before = _before(r, holder, touched, overlay)
    after = {label: before[label] + moved[label] for label in touched}
    yield from (f"the label {_shown(label)} is held {n} times" for label, n in after.items() if n not in (0, 1))
    lost = [label for label, n in after.items() if n == 0]
    overlay.fetch(part.name, part.label, lost)
    for label in lost:
        if overlay.rows(part.name, part.label, label):
            yield f"the label {_shown(label)} has rows, and no row holds it"


def _shown(label: Row) -> str:
    return ", ".join(map(str, label))


def _held(holder: Holder, rows: Found) -> Counter[Row]:
    """By label, how many of ``rows`` hold it."""
    held: Counter[Row] = Counter()
    for row, n in rows.items():
        label = tuple(row[c] for c in holder.columns)
        if None not in label:
            held[label] += n
    return held


def _before(r: Relation, holder: Holder, labels: list[Row], overlay: Overlay) -> Counter[Row]:
    """By label, how many rows held it before the batch. One that was seen is the only one, so that only labels that
    come new to a row are looked up; in the rows of a bag that never changes none is new, but to a bag that is."""
    name = holder.part.name
    held = _held(holder, overlay.seen(name))
    if name in r.fixed:  # where it may be kept as arrays, which no label leads to
        return held
    overlay.fetch(name, holder.found_by, [label for label in labels if label not in held])
    return _held(holder, overlay.seen(name))


def _counts(part: Part, overlay: Overlay) -> Iterator[str]:
    """Rows that the batch takes away more often than they are there."""
    gone = {row: n for row, n in overlay.changed(part.name).items() if n < 0}
    if gone:
        before = _seen(part.name, part.lookup, gone, overlay)
        after = {row: before.get(row, 0) + n for row, n in gone.items()}
        yield from (f"a row is there {n} times" for n in after.values() if n < 0)


def _seen(name: str, columns: Columns, rows: Iterable[Row], overlay: Overlay) -> Found:
    """How often ``rows`` were there before the batch; those that nobody has read are looked up by ``columns``."""
    seen = overlay.seen(name)
    unseen = [tuple(row[c] for c in columns) for row in rows if row not in seen]
    if not unseen:
        return seen
    if not columns:  # not rows with labels, which were seen as holders: rows without columns, which are all the same
        return overlay.whole(name)
    overlay.fetch(name, columns, unseen)
    return overlay.seen(name)
