"""What is computed of the rows of a source and equated with what was read, as a column of theirs that is looked up.

    x ∈ R where lower(x.mail) = lower(l.mail)   ⟶   x ∈ R with c := lower(x.mail), probed by c = lower(l.mail)

A plan probes stored columns only, for these have an index where the rows are stored. Where what was found has to be put
beside all rows, or beside very many of one key, those that agree are found by hashes of what is computed, if it has a
value for each of them. The condition is asked as ever. One that can fail is asked last, but if both of its sides have
values for all rows that are there, it fails for none, and a combination for which it is false is none whatever others
do (``join.fulfilling``).
"""

from collections.abc import Iterable, Iterator

from attrs import evolve

from ripplenest.nrc.functions.signatures import are_alike
from ripplenest.nrc.rewriting.equations import EQUALITIES
from ripplenest.plan.product import Col, Key, Op, Product, Scalar, Step, sources_of
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.join import TIMES, WORTH


def with_computed(p: Product, binding: Binding, step: Step, rows: Input) -> tuple[Step, Input]:
    """``step`` and the rows that it reads, with keys for what is computed of them where that is worth it. Law: with the
    conditions of ``p`` it makes the combinations of ``step``."""
    if step.place or len(binding) * len(rows) < WORTH:
        return step, rows
    found = list(_equated(binding, step, (*step.ready, *p.steps[-1].guarded)))
    if not found or len(binding) * rows.crowd(step.columns) < max(WORTH, TIMES * len(rows)):
        return step, rows
    asked = {own: (other, same) for own, other, same in found if binding.value(other).failed is None}
    values = {own: v for own in asked if (v := rows.value(step.source, own)) is not None}
    if not values:
        return step, rows
    keys = (Key(i, *asked[own]) for i, own in enumerate(values, len(rows.columns)))
    return evolve(step, keys=(*step.keys, *keys)), rows.computed(values)


def _equated(binding: Binding, step: Step, conditions: Iterable[Scalar]) -> Iterator[tuple[Scalar, Scalar, bool]]:
    """What is computed of rows alone, what it equals of others that were read, and whether NULL equals NULL."""
    for t in conditions:
        match t:
            case Op(fn, (a, b)) if fn in EQUALITIES and are_alike(a.type, b.type):
                for own, other in ((a, b), (b, a)):
                    read = sources_of(other)
                    is_known = bool(read) and all(map(binding.reads, read))
                    if is_known and sources_of(own) == {step.source} and not isinstance(own, Col):
                        yield own, other, fn == "same"
