"""Where the work for a view is done: that of a batch, of a build and of loads, as commits choose it.

Only estimates are asked, so that nothing is read and nothing is started.
"""

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from ripplenest.nrc.printing.text import part
from ripplenest.plan.planned import merged
from ripplenest.run.engines import Engines
from ripplenest.run.policy import Policy, Work, decide
from ripplenest.state.declared import Declared
from ripplenest.state.views import Kept

Sizes = Callable[[str], int]


@frozen
class Piece:
    """``work`` that is done by ``how``, on ``engine``, and ``why`` there."""

    work: str
    how: str
    engine: str
    why: str


@frozen
class Pieces:
    """What the views of a database cost: by its engines, under its policy."""

    declared: Declared
    engines: Engines
    policy: Policy

    def of(self, view: Kept, sizes: Sizes, changes: Mapping[str, int]) -> tuple[Piece, ...]:
        """A batch of ``changes``, with all views that it keeps fresh; a build of ``view``; loads of what it reads, of
        as many rows as there are."""
        return tuple(self._of(view, sizes, changes))

    def _of(self, view: Kept, sizes: Sizes, changes: Mapping[str, int]) -> Iterator[Piece]:
        plan = self.declared.plan()
        if changes and plan.programs:
            decision = decide("incremental" if self.policy == "strict" else self.policy, Work(plan, sizes, changes))
            how = "by triggers" if decision.how == "incremental" else "recomputed"
            yield self._piece("a batch", how, decision.rows)
        own = {m.name for m in view.plan.maps}
        yield self._piece("a build", "recomputed", Work(view.plan, lambda t: 0 if t in own else sizes(t), {}).full())
        for name in sorted(view.relations & self.declared.relations.keys()):
            readers = merged([v.plan for v in self.declared.views.values() if name in v.relations])
            parts = {p: sizes(p) for p in self.declared.relations[name].parts}
            gone = parts.keys() | {m.name for m in readers.maps}
            work = Work(readers, lambda t, gone=gone: 0 if t in gone else sizes(t), parts)  # type: ignore[misc]
            yield self._piece(f"a load of {part(name)}", "recomputed", work.full())

    def _piece(self, work: str, how: str, rows: float) -> Piece:
        place = self.engines.place(rows)
        return Piece(work, how, place.name, place.why)
