"""Which columns the rows of a map only add up, so that a map that they are read from may add them up before.

The rows that products make of a group are ⟨label, k, v⟩, and its folds add up products of some of the values v. Such a
fold is linear in each of its arguments: Σ x · y over rows that agree in y is (Σ x) · y. So a column that is read as one
argument of folds and nowhere else may come as its sums, with how many rows have a value in it, from rows that agree in
all that is read besides. The same is true of the last columns of a sum map, which are added up alone. Of two columns of
one component that a fold multiplies, none is linear in that sense; and a sum of doubles is kept exactly only by who
answers.
"""

from collections.abc import Mapping

from attrs import frozen

from ripplenest.delta.program import Map
from ripplenest.delta.strata import KEY, VALUES
from ripplenest.nrc.folds import FACTORED, kept_sum
from ripplenest.nrc.paths import root
from ripplenest.nrc.simplify import simplify_elem
from ripplenest.nrc.syntax import Elem, Proj, Tuple
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type
from ripplenest.nrc.walk import free_vars

LINEAR = (*FACTORED, "count")  # the folds that add up something of each row


@frozen
class Added:
    """The head of a product: columns of a component that are only ``summed``, and the ``rest`` of it."""

    summed: tuple[Elem, ...]
    rest: tuple[Elem, ...]


@frozen
class _Values:
    """Values that are folded, by the places of those that each fold multiplies, and the others."""

    values: tuple[Elem, ...]
    folds: tuple[tuple[int, ...], ...]
    others: tuple[Elem, ...]


def added(reader: Map, head: Elem, component: frozenset[str], types: Mapping[str, Type]) -> Added:
    """What the rows ``head`` of ``reader`` read of the variables of ``component``, whose types are among ``types``."""
    found = _values(reader, head)
    if found is None:
        return Added((), (head,))
    own = frozenset(i for i, t in enumerate(found.values) if free_vars(t) & component)
    together = frozenset(i for fold in found.folds if len(read := [i for i in fold if i in own]) > 1 for i in read)
    folded = frozenset(i for fold in found.folds for i in fold)
    summed = [i for i in sorted((own & folded) - together) if _can_be(found.values[i], types)]
    rest = (t for i, t in enumerate(found.values) if i not in summed)
    return Added(tuple(dict.fromkeys(found.values[i] for i in summed)), (*found.others, *rest))


def _can_be(t: Elem, types: Mapping[str, Type]) -> bool:
    """Whether ``t`` is a column whose sums are kept."""
    kind = elem_type(t, types)
    return root(t) is not None and isinstance(kind, Base) and kept_sum(kind) is not None


def _values(reader: Map, head: Elem) -> _Values | None:
    if reader.summed and isinstance(head, Tuple):
        values = tuple(t for name, t in head.fields if name in reader.summed)
        others = tuple(t for name, t in head.fields if name not in reader.summed)
        return _Values(values, tuple((i,) for i in range(len(values))), others)
    return _of_group(reader, head)


def _of_group(reader: Map, head: Elem) -> _Values | None:
    row = simplify_elem(Proj(head, "row"))
    values = simplify_elem(Proj(row, VALUES))
    if reader.group is None or not isinstance(values, Tuple):
        return None
    found = tuple(t for _, t in values.fields)
    nonlinear = {i for a in reader.group.answers if a.fn not in LINEAR for i in a.args}
    folds = (a.args for a in reader.group.answers if a.fn in LINEAR and not nonlinear & {*a.args})
    others = (simplify_elem(Proj(head, "label")), simplify_elem(Proj(row, KEY)))
    return _Values(found, tuple(folds), others)
