"""Flat rows as columns: every flat type is a fixed list of base columns (``c0``, ``c1``, … of a stored table).

A base value is one column, a record the columns of its fields. A label of one site is the columns of its parameters (a
stored label: its id, NULL for a NULL bag); a label of several sites is its site's name and then the parameters of
each site, NULL for the sites that did not make it.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.bags import LabelValue, Value, field_of
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, nullable

SITE = Base("string", True)


@frozen
class Column:
    """One column of a stored table: what users call it (``orders.id``, ``name``) and its type."""

    path: str
    type: Base


def columns(t: Type, path: str = "") -> tuple[Column, ...]:
    """The columns of a flat type, in storage order."""
    return tuple(_columns(t, path))


def base_types(t: Type) -> tuple[Base, ...]:
    return tuple(c.type for c in columns(t))


def width(t: Type) -> int:
    """How many columns a flat type has."""
    return len(columns(t))


def _columns(t: Type, path: str) -> Iterator[Column]:
    match t:
        case Base():
            yield Column(path or "value", t)
        case Record(fields):
            for name, inner in fields:
                yield from _columns(inner, f"{path}.{name}" if path else name)
        case Label(sites, null):
            if len(sites) > 1:
                yield Column(f"{path}.site", SITE)
            for site in sites:
                for name, inner in site.params:
                    wide = nullable(inner) if null or len(sites) > 1 else inner
                    yield from _columns(wide, f"{path}.{site.name}.{name}" if len(sites) > 1 else f"{path}.{name}")
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def to_leaves(value: Value, t: Type) -> tuple[object, ...]:
    """A flat value of the calculus as the values of its columns."""
    match t:
        case Base():
            return (value,)
        case Record(fields):
            return tuple(leaf for name, inner in fields for leaf in to_leaves(field_of(value, name), inner))
        case Label(sites):
            return _label_leaves(value, t) if len(sites) != 1 else _site_leaves(value, t, sites[0].name)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _label_leaves(value: Value, t: Label) -> tuple[object, ...]:
    site = value.site if isinstance(value, LabelValue) else None
    tag = (site,) if t.sites else ()
    return (*tag, *(leaf for s in t.sites for leaf in _site_leaves(value, t, s.name)))


def _site_leaves(value: Value, t: Label, name: str) -> tuple[object, ...]:
    site = t.site(name)
    assert site is not None
    if isinstance(value, LabelValue) and value.site == name:
        pairs = zip(value.args, site.params, strict=True)
        return tuple(leaf for arg, (_, inner) in pairs for leaf in to_leaves(arg, inner))
    return (None,) * sum(width(inner) for _, inner in site.params)


def from_leaves(leaves: Sequence[object], t: Type) -> Value:
    """The value of the calculus that the columns hold. Law: from_leaves(to_leaves(v, t), t) = v."""
    value, rest = _read(list(leaves), t)
    assert not rest
    return value


def _read(leaves: list[object], t: Type) -> tuple[Value, list[object]]:
    match t:
        case Base():
            return leaves[0], leaves[1:]
        case Record(fields):
            out = []
            for name, inner in fields:
                value, leaves = _read(leaves, inner)
                out.append((name, value))
            return tuple(out), leaves
        case Label(sites):
            tag, leaves = (leaves[0], leaves[1:]) if len(sites) > 1 else (sites[0].name if sites else None, leaves)
            return _read_label(leaves, t, tag)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _read_label(leaves: list[object], t: Label, tag: object) -> tuple[Value, list[object]]:
    found: Value = None
    for site in t.sites:
        args = []
        for _, inner in site.params:
            value, leaves = _read(leaves, inner)
            args.append(value)
        absent = len(t.sites) == 1 and t.nullable and args == [None]
        if site.name == tag and not absent:
            found = LabelValue(site.name, tuple(args))
    return found, leaves


def label_columns(t: Type) -> tuple[int, ...]:
    """The positions of the columns that hold stored labels' ids, for flat types of inputs (one column a label)."""
    return tuple(i for i, site in enumerate(_sites(t)) if site is not None)


def scalar_columns(t: Type) -> tuple[int, ...]:
    """The positions of all other columns."""
    return tuple(i for i, site in enumerate(_sites(t)) if site is None)


def label_site(t: Type, column: int) -> str | None:
    """The site of the stored label whose id is in ``column``; None for other columns."""
    return _sites(t)[column]


def _sites(t: Type) -> tuple[str | None, ...]:
    match t:
        case Record(fields):
            return tuple(site for _, inner in fields for site in _sites(inner))
        case Label(sites) if len(sites) == 1:
            return (sites[0].name,)
        case _:
            return (None,) * width(t)
