"""Which values of the rows of a map are only added up, so that a map that they are read from may add them up before.

The rows that products make of a group are ⟨label, k, v⟩, and its folds add up products of some of the values v. Such a
fold is linear in each of its factors: Σ x · y · z over rows that agree in z is (Σ x · y) · z. So values of a component
that are factors of folds, and of which nobody reads the columns, may come as the sum of their product, a *monomial*,
with how many rows have a value in all of them, from rows that agree in all that is read besides. The same is true of
the last columns of a sum map, which are added up alone. What is read in any other way is kept, and so is what has no
room: of a product that has no sum the first factors are kept, and the others are added up by them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.delta.groups.strata import KEY, VALUES, contribution
from ripplenest.delta.program import Map
from ripplenest.nrc.functions.folds import can_be_told, kept_sum
from ripplenest.nrc.paths import columns_read
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Elem, Proj, Tuple
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type
from ripplenest.nrc.walk import free_vars

Places = tuple[int, ...]


@frozen
class Added:
    """The head of a product: the ``values`` that its map folds, of which monomials of a component, the values at some
    places, are only ``summed``; and the ``rest`` of it."""

    summed: tuple[Places, ...]
    values: tuple[Elem, ...]
    rest: tuple[Elem, ...]


@frozen
class _Values:
    """Values that are folded, by the places of those that each fold multiplies, and the others."""

    values: tuple[Elem, ...]
    folds: tuple[Places, ...]
    others: tuple[Elem, ...]


def added(
    reader: Map, head: Elem, component: frozenset[str], types: Mapping[str, Type], needed: Collection[Elem]
) -> Added:
    """What the rows ``head`` of ``reader`` read of the variables of ``component``, whose types are among ``types``, and
    of which the columns ``needed`` are read besides."""
    found = _values(reader, head)
    if found is None:
        return Added((), (), (head,))
    folded = {i for fold in found.folds for i in fold if _can_be(found.values[i], component, types)}
    while (kept := _kept(found, folded, component, types, needed)) is not None:
        folded.remove(kept)
    rest = (t for i, t in enumerate(found.values) if i not in folded)
    return Added(tuple(_monomials(found, folded)), found.values, (*found.others, *rest))


def replaced(reader: Map, head: Elem, values: Mapping[int, Elem]) -> Elem:
    """The rows ``head`` of ``reader`` with others of the ``values`` that it folds, by their places."""
    if not values:
        return head
    if reader.summed:
        assert isinstance(head, Tuple)
        places = {name: i for i, name in enumerate(reader.factors)}
        return Tuple(tuple((name, values.get(places.get(name, -1), t)) for name, t in head.fields))
    own = folded_values(head)
    assert own is not None
    return with_values(head, [values.get(i, t) for i, t in enumerate(own)])


def with_values(head: Elem, values: Sequence[Elem]) -> Elem:
    """⟨label, row: ⟨k, v⟩⟩ with other values v."""
    made = contribution(simplify_elem(Proj(Proj(head, "row"), KEY)), values)
    return Tuple((("label", simplify_elem(Proj(head, "label"))), ("row", made)))


def _can_be(t: Elem, component: frozenset[str], types: Mapping[str, Type]) -> bool:
    """Whether ``t`` is of the component alone, has a value for all of its rows, and sums that are kept."""
    kind, variables = elem_type(t, types), free_vars(t)
    exact = isinstance(kind, Base) and kept_sum(kind) is not None
    return exact and bool(variables) and variables <= component and is_total(t, types)


def _kept(
    found: _Values, folded: set[int], component: frozenset[str], types: Mapping[str, Type], needed: Collection[Elem]
) -> int | None:
    """A place of those to be ``folded`` that cannot be: its columns are read besides, or folds of different monomials
    look there, or there is no room for the sum. None when all can be."""
    rest = (*found.others, *(t for i, t in enumerate(found.values) if i not in folded))
    read = {*needed, *(column for t in rest for column in columns_read(t, component, types))}
    monomials = list(_monomials(found, folded))
    for monomial in monomials:
        for i in monomial:
            own = {*columns_read(found.values[i], component, types)}
            if own <= read or sum(m.count(i) for m in monomials) > 1:
                return i
        if not can_be_told([*_types(found, monomial, types)]):
            return monomial[0]
    return None


def _types(found: _Values, monomial: Places, types: Mapping[str, Type]) -> Iterator[Base]:
    for i in monomial:
        t = elem_type(found.values[i], types)
        assert isinstance(t, Base)
        yield t


def _monomials(found: _Values, folded: Collection[int]) -> Sequence[Places]:
    """What each fold multiplies of those to be ``folded``, each once."""
    own = (tuple(i for i in fold if i in folded) for fold in found.folds)
    return [*dict.fromkeys(monomial for monomial in own if monomial)]


def _values(reader: Map, head: Elem) -> _Values | None:
    if reader.summed and isinstance(head, Tuple):
        row = dict(head.fields)
        values = tuple(row[name] for name in reader.factors)
        others = tuple(t for name, t in head.fields if name not in reader.factors)
        places = {name: i for i, name in enumerate(reader.factors)}
        return _Values(values, tuple(tuple(places[name] for name in m) for m in reader.summed), others)
    return _of_group(reader, head)


def _of_group(reader: Map, head: Elem) -> _Values | None:
    values = folded_values(head)
    if reader.group is None or values is None:
        return None
    places = reader.apart or tuple(a.args for a in reader.group.answers)
    folds = (own for a, own in zip(reader.group.answers, places, strict=True) if a in reader.group.added)
    others = (simplify_elem(Proj(head, "label")), simplify_elem(Proj(Proj(head, "row"), KEY)))
    return _Values(values, tuple(folds), others)


def folded_values(head: Elem) -> tuple[Elem, ...] | None:
    """v of the rows ⟨label, row: ⟨k, v⟩⟩ of a group, if it is written out."""
    values = simplify_elem(Proj(Proj(head, "row"), VALUES))
    return tuple(t for _, t in values.fields) if isinstance(values, Tuple) else None
