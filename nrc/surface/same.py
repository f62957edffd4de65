"""Whether two views are one, whatever their sources call what nobody sees.

A program that is written again calls its variables otherwise. And where first rows have inner bags, a view tells them
by records of their other fields (``ranking.py``), whose names nobody sees either: a field that is renamed in a relation
keeps its old name there.
"""

import re
from collections.abc import Iterator

from attrs import evolve

from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.serial import query_to_json
from ripplenest.nrc.surface.ranking import ROW
from ripplenest.nrc.syntax import Elem, Expr, For, Group, Let, Proj, Query, Sng, Top, Tuple, Var
from ripplenest.nrc.types import places
from ripplenest.nrc.walk import canonical, rebuild, rebuild_elem

AROUND = 40  # characters, before what differs, and twice as many behind it


def same_view(a: Query, b: Query) -> bool:
    """Law: views that are the same have the same rows over the same relations, shown alike."""
    return _bare(a) == _bare(b)


def _bare(q: Query) -> str:
    """``q`` as it would be stored, which tells constants apart that Python does not, such as 0.0 and -0.0."""
    return query_to_json(evolve(q, body=_placed(canonical(q.body)), assumes=()))


def differing(a: Query, b: Query) -> tuple[str, str]:
    """Where their terms begin to differ, as text."""
    texts = [re.sub(r"`#(\d*)`", r"x\1", show(canonical(q.body))) for q in (a, b)]
    at = next((i for i, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), min(map(len, texts)))
    start, end = max(at - AROUND, 0), at + 2 * AROUND
    one, other = (f"{'…' * (start > 0)}{t[start:end]}{'…' * (end < len(t))}" for t in texts)
    return one, other


def _placed(e: Expr) -> Expr:
    """``e``, where records that tell first rows have the names of places."""
    match e:
        case For(k, Group(_, _, Top() as top, ((name, _),), ()) as group, body) if name == ROW:
            told = dict(_told(top.of))
            e = For(k, evolve(group, of=evolve(top, of=_headed(top.of))), _with(body, Proj(Var(k), ROW), told))
    return rebuild(e, _placed, lambda t: t, lambda d: d)


def _told(e: Expr) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The paths in the record ``row`` of what ``e`` makes, and what they become."""
    match e:
        case For(_, _, body) | Let(_, _, body):
            yield from _told(body)
        case Sng(Tuple(((_, Tuple() as row), *_))):
            yield from _paths(row)


def _paths(t: Elem) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if isinstance(t, Tuple):
        for (name, inner), place in zip(t.fields, places(len(t.fields)), strict=True):
            yield (name,), (place,)
            yield from (((name, *path), (place, *other)) for path, other in _paths(inner))


def _headed(e: Expr) -> Expr:
    match e:
        case For(_, _, body) | Let(_, _, body):
            return evolve(e, body=_headed(body))
        case Sng(Tuple(((name, Tuple() as row), *others))):
            return Sng(Tuple(((name, _in_places(row)), *others)))
    return e


def _in_places(t: Elem) -> Elem:
    if not isinstance(t, Tuple):
        return t
    inner = (_in_places(own) for _, own in t.fields)
    return Tuple(tuple(zip(places(len(t.fields)), inner, strict=True)))


def _with(e: Expr, row: Elem, told: dict[tuple[str, ...], tuple[str, ...]]) -> Expr:
    """``e``, which reads the record ``row`` by the names that it has now."""

    def elem(t: Elem) -> Elem:
        path: list[str] = []
        of = t
        while isinstance(of, Proj) and of != row:
            path, of = [of.field, *path], of.of
        if of == row and (found := told.get(tuple(path))) is not None:
            for name in found:
                of = Proj(of, name)
            return of
        return rebuild_elem(t, elem)

    return rebuild(e, lambda x: _with(x, row, told), elem, lambda d: d)
