"""Combinations of rows by what they are a function of: the inputs that were read, by which keys, on which conditions.

Who asks which keys a source is looked up by makes them, and who joins the rows that were found makes them again; so do
statements of one batch that begin alike. They are made once, and told apart by the identity of what they are made of,
which is kept with them.
"""

from collections.abc import Callable, Hashable, Sequence

from attrs import define, field

from ripplenest.data.rows import KEPT
from ripplenest.plan.evaluate import asked_of
from ripplenest.plan.product import Product, Scalar, Step
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.join import extended, fulfilling, many

Maker = tuple[Binding, Input | None]  # what combinations are made of


@define(eq=False)
class Combinations:
    """Those that were made, as long as this lives; ``forget`` those that are many."""

    nothing: Binding = field(factory=Binding.nothing_read)
    _made: dict[Hashable, tuple[Maker, Binding]] = field(factory=dict)

    def of(self, p: Product, steps: Sequence[Step], inputs: Sequence[Input]) -> Binding:
        """Those of the sources that ``steps`` read, for which the conditions on these sources alone are true that
        cannot fail. No key needs another source."""
        found = self.within(p, steps, inputs, None)
        assert found is not None
        return found

    def within(self, p: Product, steps: Sequence[Step], inputs: Sequence[Input], most: int | None) -> Binding | None:
        """The same; None where there would be more than ``most`` at some step."""
        binding = self.nothing
        for step, rows in zip(steps, inputs, strict=True):
            if most is not None and len(binding) * len(rows) > most and many(binding, step, rows) > most:
                return None
            binding = self.where(self.extended(binding, step, rows), asked_of(p, steps, step))
        return binding

    def extended(self, binding: Binding, step: Step, rows: Input) -> Binding:
        """Each combination with the rows of one more source that its keys ask for."""
        key = (id(binding), id(rows), step.source, step.keys, step.band)
        return self.once(key, (binding, rows), lambda: extended(binding, step, rows))

    def where(self, binding: Binding, conditions: Sequence[Scalar]) -> Binding:
        """The combinations for which every condition is true. Raises EvaluationError."""
        if not conditions or not len(binding):
            return binding
        return self.once((id(binding), *conditions), (binding, None), lambda: fulfilling(binding, conditions))

    def once(self, key: Hashable, of: Maker, make: Callable[[], Binding]) -> Binding:
        """What was made for ``key``, whose ids are those of what it is made ``of``."""
        if key not in self._made:
            self._made[key] = (of, make())
        return self._made[key][1]

    def forget(self) -> None:
        """Keep no combinations that are many, and none that are made of many."""
        kept = ((key, found) for key, found in self._made.items() if not _is_large(*found))
        self._made = dict(kept)


def _is_large(of: Maker, made: Binding) -> bool:
    return any(len(some) > KEPT for some in (*of, made) if some is not None)
