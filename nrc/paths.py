"""Paths x.f.g into the rows of variables: the columns that a term reads."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import reduce
from typing import cast

from ripplenest.nrc.syntax import Elem, OutL, Proj, Term, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import NUMBERED, Label, Record, Site, Type
from ripplenest.nrc.walk import children, rebuild_elem

Leaf = Callable[[Elem], Elem]


def root(t: Elem) -> str | None:
    """x for x.f.g, else None."""
    while isinstance(t, Proj):
        t = t.of
    return t.name if isinstance(t, Var) else None


def map_columns(
    t: Elem, variables: frozenset[str], types: Mapping[str, Type], leaf: Leaf, computed: Collection[Elem] = ()
) -> Elem:
    """``t`` with ``leaf`` of every path of base or label type into ``variables``, whose types are among ``types``, and
    of what is ``computed`` of such paths, which is a column itself.

    A record that is used whole is the record of its fields, so that each leaf is one column.
    """
    if t in computed:
        return leaf(t)
    if root(t) not in variables:
        return rebuild_elem(t, lambda a: map_columns(a, variables, types, leaf, computed))
    found = elem_type(t, types)
    if isinstance(found, Record):
        return Tuple(tuple((n, map_columns(Proj(t, n), variables, types, leaf)) for n in found.names))
    return leaf(t)


def columns_read(
    t: Elem, variables: frozenset[str], types: Mapping[str, Type], computed: Collection[Elem] = ()
) -> tuple[Elem, ...]:
    """Every column of ``variables``, whose types are among ``types``, that ``t`` reads, each once; what is ``computed``
    of some is one itself."""
    found: dict[Elem, None] = {}

    def read(column: Elem) -> Elem:
        found[column] = None
        return column

    map_columns(t, variables, types, read, computed)
    return tuple(found)


def reads_whole(e: Term, var: str) -> bool:
    """Whether ``e`` reads more of ``var`` than fields."""
    match e:
        case Var(name):
            return name == var
        case Proj(Var()):
            return False
    return any(reads_whole(c, var) for c in children(e))


def path_name(t: Elem) -> str:
    """The text ``x.f.g`` of a path."""
    return f"{path_name(t.of)}.{t.field}" if isinstance(t, Proj) else t.name if isinstance(t, Var) else "?"


def path_of(name: str) -> Elem:
    """The path that has this name: the inverse of ``path_name``, for people (a field's name can have dots of its own).
    """
    first, *rest = name.split(".")
    return reduce(Proj, rest, cast("Elem", Var(first)))


def as_written(t: Elem) -> Elem:
    """``t`` for people: parameters of labels are the paths of the view that they are named after."""
    return path_of(t.param) if isinstance(t, OutL) else rebuild_elem(t, as_written)


def column_of(t: Elem) -> str | None:
    """The path of a stored column from its generator's row: ``gen``, ``row.qty``, ``label``; None for computed values.

    The number of a stored label is a column under the label's path; of other labels, each parameter is one. A row that
    is no record is called ``value``.
    """
    match t:
        case Var():
            return "value"
        case Proj(of, name):
            outer = column_of(of)
            return None if outer is None else name if isinstance(of, Var) else f"{outer}.{name}"
        case OutL(of, site, param):
            outer = column_of(of)
            return None if outer is None else label_column(outer, site, param)
        case _:
            return None


def label_column(path: str, site: Site, param: str) -> str:
    """The column of one parameter of the labels of ``site`` that are kept under ``path``."""
    return path if site.params == NUMBERED else f"{path}.{site.name}.{param}"


def label_columns(path: str, site: Site) -> frozenset[str]:
    """The columns that tell labels of ``site`` apart that are kept under ``path``."""
    return frozenset(label_column(path, site, param) for param, _ in site.params)


def labels_held(row: Type, table: str, path: str = "") -> Iterator[tuple[str, Site]]:
    """Where a flat ``row`` of ``table`` holds labels of its own inner bags, each of which no other row holds."""
    match row:
        case Record(fields):
            for name, inner in fields:
                yield from labels_held(inner, table, f"{path}.{name}" if path else name)
        case Label((site,)) if site.name.startswith(f"{table}."):
            yield path, site
        case _:
            return
