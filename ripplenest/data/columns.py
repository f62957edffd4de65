"""Flat rows as columns: every flat type is a fixed list of base columns (``c0``, ``c1``, … of a stored table).

A base value is one column, a record the columns of its fields; ``data/labels.py`` says what the columns of a label are.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from attrs import frozen

from ripplenest.data.labels import SHOWN, SITE, is_tagged, labels, param_name, param_type, site_columns, width
from ripplenest.nrc.bags import LabelValue, Value, field_of
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Site, Type


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


def _columns(t: Type, path: str) -> Iterator[Column]:
    match t:
        case Base():
            yield Column(path or "value", t)
        case Record(fields):
            for name, inner in fields:
                yield from _columns(inner, f"{path}.{name}" if path else name)
        case Label(sites):
            if is_tagged(t):
                yield Column(f"{path}.{SHOWN}", SITE)
            for site in sites:
                for name, inner in site.params:
                    yield from _columns(param_type(t, inner), f"{path}.{param_name(t, site, name)}")
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def to_leaves(value: Value, t: Type) -> tuple[object, ...]:
    """A flat value of the calculus as the values of its columns."""
    leaves: list[object] = []
    _add_leaves(value, t, leaves)
    return tuple(leaves)


def _add_leaves(value: Value, t: Type, leaves: list[object]) -> None:
    match t:
        case Base():
            leaves.append(value)
        case Record(fields):
            for name, inner in fields:
                _add_leaves(field_of(value, name), inner, leaves)
        case Label(sites):
            if is_tagged(t):
                leaves.append(value.site if isinstance(value, LabelValue) else None)
            for site in sites:
                _add_site_leaves(value, site, leaves)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _add_site_leaves(value: Value, site: Site, leaves: list[object]) -> None:
    if isinstance(value, LabelValue) and value.site == site.name:
        for arg, (_, inner) in zip(value.args, site.params, strict=True):
            _add_leaves(arg, inner, leaves)
    else:
        leaves += (None,) * sum(width(inner) for _, inner in site.params)


def from_leaves(leaves: Sequence[object], t: Type) -> Value:
    """The value of the calculus that the columns hold. Law: from_leaves(to_leaves(v, t), t) = v."""
    value, end = _read(leaves, 0, t)
    assert end == len(leaves)
    return value


def _read(leaves: Sequence[object], start: int, t: Type) -> tuple[Value, int]:
    """The value of the columns from ``start``, and where they end."""
    match t:
        case Base():
            return leaves[start], start + 1
        case Record(fields):
            out = []
            for name, inner in fields:
                value, start = _read(leaves, start, inner)
                out.append((name, value))
            return tuple(out), start
        case Label():
            return _read_label(leaves, start, t)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _read_label(leaves: Sequence[object], start: int, t: Label) -> tuple[Value, int]:
    """What ``SiteColumns.mark`` says, read in one go: every row of every answer comes by here."""
    tagged = is_tagged(t)
    tag, at = leaves[start] if tagged else None, start + tagged
    found = None
    for site in t.sites:
        first, args = at, []
        for _, inner in site.params:
            value, at = _read(leaves, at, inner)
            args.append(value)
        absent = t.nullable and at > first and leaves[first] is None
        if tag == site.name if tagged else not absent:
            found = LabelValue(site.name, tuple(args))
    return found, at


def held_labels(t: Type, start: int = 0) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The site and the columns of each label that rows of an input hold, whose columns begin at ``start``: they are of
    one site each."""
    for at, label in labels(t, start):
        for of in site_columns(label, at):
            yield of.site.name, tuple(of.params)


def column_at(t: Type, trail: Sequence[str], start: int = 0) -> int:
    """The column that a base field begins with, which ``trail`` leads to through records; those of ``t`` begin at
    ``start``."""
    if not trail:
        return start
    assert isinstance(t, Record)
    before, (name, *rest) = t.names.index(trail[0]), trail
    inner = dict(t.fields)[name]
    return column_at(inner, rest, start + sum(width(f) for _, f in t.fields[:before]))
