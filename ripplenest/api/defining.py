"""Definitions as users ask for them: which one is meant, whether it is there already, and whether the policy and the
publications allow it. ``state/define.py`` builds the maps.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from attrs import evolve, frozen

from ripplenest.delta.choice import grown
from ripplenest.delta.compile import Options
from ripplenest.delta.judge import check_strict
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.nrc.arguments import one_of, text
from ripplenest.nrc.assumed import outgrown
from ripplenest.nrc.errors import QueryError, WrongValue
from ripplenest.nrc.syntax import Query
from ripplenest.publish.publications import Publications
from ripplenest.run.policy import Policy
from ripplenest.schema.altered import Altered
from ripplenest.schema.relation import Relation, find_relation, unique_columns
from ripplenest.state.commits import Commits
from ripplenest.state.declared import Declared
from ripplenest.state.define import Definitions
from ripplenest.state.state import State
from ripplenest.state.views import HasQuery, Kept, Source, compiled, query_of
from ripplenest.store.turns import retried
from ripplenest.version.folding import Unfolding

if TYPE_CHECKING:
    from ripplenest.nrc.surface import text as files

Key = str | tuple[str, ...] | None
T = TypeVar("T")


@frozen
class Defining:
    """Definitions that a user asks for, under a policy."""

    state: State
    commits: Commits
    definitions: Definitions
    publications: Publications
    policy: Policy

    @property
    def _declared(self) -> Declared:
        return self.state.declared

    def create(self, view: HasQuery, materialize: Materialize | None) -> tuple[str, Kept | None]:
        """Keep a view, or know that it is kept; its name, and what is new of it."""
        query = _checked(view, materialize, "create")
        return self._done(lambda: self._create(view, query, materialize))

    def _create(self, view: HasQuery, query: Query, materialize: Materialize | None) -> tuple[str, Kept | None]:
        snapshot = self.state.snapshot()
        query = self._declared.fitted(query)
        known = self._declared.views.get(query.name)
        waiting = self._declared.waiting.get(query.name)
        made = None
        if known is not None:
            self._declared.check_same(query, materialize)
        elif waiting is not None:
            self._declared.check_term(waiting, query, materialize)
            self.definitions.rebuild(waiting, snapshot)
        else:
            made = self._compiled(_assuming(view, query), materialize, snapshot)
            self.definitions.create(made, snapshot)
        return query.name, made

    def replace(self, view: HasQuery, materialize: Materialize | None) -> Kept:
        """Keep a view in place of the one of its name."""
        query = _assuming(view, _checked(view, materialize, "replace"))
        return self._done(lambda: self._replace(query, materialize))

    def _replace(self, query: Query, materialize: Materialize | None) -> Kept:
        snapshot = self.state.snapshot()
        query = self._declared.fitted(query)
        made = self._compiled(query, materialize, snapshot)
        self.publications.check_fits(made)
        self.definitions.replace(made, snapshot)
        return made

    def costs(self, made: Kept) -> str | None:
        """What is to be said of a view whose triggers do not cost what the change costs, unless none is to run."""
        if self.policy == "full" or made.judgement.incremental:
            return None
        first, *_ = made.judgement.warnings
        what, shown = f"{first.node}: {first.reason.partition('. ')[0]}", f"explain() of view {made.query.name}"
        return f"view {made.query.name} is kept fresh, but not in the size of the change: {what}; {shown} says why"

    def rebuild(self, name: str | None = None, limit: int | None = None, compiles: bool = False) -> tuple[str, ...]:
        """Rebuild the views that wait, each in one commit, or the one called ``name``; which they were. With ``limit``
        only those that read no more rows, and perhaps only those that this release ``compiles``."""
        self.state.refresh()
        names = [waiting for waiting in self._declared.waiting if name in (None, waiting)]
        return tuple(waiting for waiting in names if self._done(partial(self._rebuild, waiting, limit, compiles)))

    def _rebuild(self, name: str, limit: int | None, compiles: bool) -> bool:
        """Rebuild a view, if it still waits; whether it is done."""
        snapshot = self.state.snapshot()
        waiting = self._declared.waiting.get(name)
        if waiting is None:
            return False
        if compiles and not isinstance(waiting.made, Kept):
            return False
        if limit is not None and self._declared.rows_read(waiting, snapshot) > limit:
            return False
        self.definitions.rebuild(waiting, snapshot)
        return True

    def drop(self, name: str) -> int:
        """Keep a view or a relation no longer. Returns the version."""

        def drop() -> int:
            snapshot = self.state.snapshot()
            self.publications.check_unpublished(name, "drop")
            return self.definitions.remove(name, snapshot)

        return self._done(drop)

    def alter(self, name: str, what: str, change: Callable[[Relation], Altered]) -> tuple[int, list[str]]:
        """Give a relation other fields. Returns the version, and which views go on with those that it had."""

        def alter() -> tuple[int, list[str]]:
            snapshot = self.state.snapshot()
            old = find_relation(self._declared.relations, name)
            wanted = change(old)
            queries = (v.query for v in self._declared.every)
            behind = outgrown(queries, name, old.row, wanted.relation.row, wanted.renamed)
            return self.definitions.alter(wanted, what, snapshot, self.publications.check_fits), behind

        return self._done(alter)

    def _done(self, attempt: Callable[[], T]) -> T:
        """What ``attempt`` gives. A build takes long: when another commit came first, it has the turn at once."""
        return retried(self.state.store.path, attempt, tries=1)

    def _compiled(self, query: Query, materialize: Materialize | None, snapshot: Unfolding) -> Kept:
        """A new definition, with maps for what its tables may grow to. Raises QueryError, and NotIncremental."""
        rows = grown(self.commits.part_sizes(snapshot, query.relations))
        keys = unique_columns(self._declared.relations[name] for name, _ in query.relations)
        made = compiled(query, Options("cost" if materialize is None else materialize, rows, keys=keys))
        if self.policy == "strict":
            check_strict(query, made.judgement)
        return made


def named(r: "str | files.Declared", record: object, key: Key) -> tuple[str, object, Key]:
    """The name, the rows and the key that are meant: of a relation of a file its own. Raises WrongValue."""
    if isinstance(r, str):
        return r, record, key
    from ripplenest.nrc.surface import text as files  # noqa: PLC0415 - the grammar is read where there are such files

    if not isinstance(r, files.Declared):
        return text(r, "relation name"), record, key
    if record is not None or key is not None:
        what, possible = "a relation of a file has rows and a key", ["relation(r)", "relation(r.name, record, key)"]
        raise WrongValue(what, where=f"relation {r.name}", got="others beside it", possible=possible)
    return r.name, r.annotation, r.key


def _checked(view: HasQuery, materialize: object, verb: str) -> Query:
    query = query_of(view)
    if materialize is not None:
        one_of(materialize, MODES, "there is no such way to materialise", f"{verb} {query.name}", QueryError)
    return query


def _assuming(view: HasQuery, query: Query) -> Query:
    """``query`` with what its source takes for granted, if ``view`` is one that can be read again."""
    return evolve(query, assumes=view.assumes()) if isinstance(view, Source) else query
