"""Whether two views are one, whatever their sources call what nobody sees.

A program that is written again calls its variables otherwise. And where first rows have inner bags, a view tells them
by records of their other fields, whose names nobody sees either (``ranking.py``):

    for k in γ(t ∈ τ(n; y ∈ (… sng⟨row: ⟨a: …⟩, o0: …⟩); y.o0); row: t.row) union … for _ in p(x.a ~ k.row.a) …

A field that is renamed in a relation keeps its old name there.
"""

import re
from collections.abc import Iterator, Mapping

from attrs import evolve

from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.serial import query_to_json
from ripplenest.nrc.surface.ranking import ROW
from ripplenest.nrc.syntax import Elem, Expr, For, Group, Let, Pred, Proj, Query, Sng, Term, Top, Tuple, Var
from ripplenest.nrc.types import places
from ripplenest.nrc.walk import canonical, children, free_vars, rebuild, rebuild_elem

AROUND = 40  # characters, before what differs, and twice as many behind it
Paths = Mapping[Elem, Elem]


def same_view(a: Query, b: Query) -> bool:
    """Law: views that are the same have the same rows over the same relations, shown alike."""
    return _bare(a) == _bare(b)


def _bare(q: Query) -> str:
    """``q`` as it would be stored, which tells constants apart that Python does not, such as 0.0 and -0.0."""
    return query_to_json(evolve(q, body=_placed(canonical(q.body)), assumes=()))


def differing(a: Query, b: Query) -> tuple[str, str]:
    """Where their terms begin to differ, or how they are sorted, as text."""
    texts = [re.sub(r"`#(\d*)`", r"x\1", show(canonical(q.body))) for q in (a, b)]
    if texts[0] == texts[1]:
        texts = [_sorted(q) for q in (a, b)]
    at = next((i for i, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), min(map(len, texts)))
    start, end = max(at - AROUND, 0), at + 2 * AROUND
    one, other = (f"{'…' * (start > 0)}{t[start:end]}{'…' * (end < len(t))}" for t in texts)
    return one, other


def _sorted(q: Query) -> str:
    ways = (f"{'.'.join(o.path)}{' desc' * o.descending}{' nulls first' * o.nulls_first}" for o in q.sorted)
    return f"sorted by {', '.join(ways)}" if q.sorted else "not sorted"


def _placed(e: Expr) -> Expr:
    """``e``, where records that nobody sees have the names of places."""
    match e:
        case For(k, Group(_, t, Top(_, y, rows, order) as top, keys, ()) as group, body):
            head, of = _head(rows), Proj(Var(k), ROW)
            (name, row), *beside = head.fields if isinstance(head, Tuple) and head.fields else [("", Var(k))]
            is_made = name == ROW and keys == ((ROW, Proj(Var(t), ROW)),)
            if is_made and all(o.by in [Proj(Var(y), n) for n, _ in beside] for o in order):
                found = [*_paths(row, of, of)]
                if _is_compared(body, k, {path for path, _, is_value in found if is_value}):
                    placed = _with_head(rows, Tuple(((ROW, _in_places(row)), *beside)))
                    paths = {path: place for path, place, _ in found}
                    e = For(k, evolve(group, of=evolve(top, of=placed)), _renamed(body, paths))
    return rebuild(e, _placed, lambda t: t, lambda d: d)


def _head(e: Expr) -> Elem | None:
    """What ``e`` makes, if it makes rows one by one."""
    match e:
        case For(_, _, body) | Let(_, _, body):
            return _head(body)
        case Sng(head):
            return head
    return None


def _with_head(e: Expr, head: Elem) -> Expr:
    return evolve(e, body=_with_head(e.body, head)) if isinstance(e, For | Let) else Sng(head)


def _paths(row: Elem, of: Elem, becomes: Elem) -> Iterator[tuple[Elem, Elem, bool]]:
    """Each path into the record ``row``, which is ``of``, what it becomes, and whether a value is there."""
    if isinstance(row, Tuple):
        for (name, inner), place in zip(row.fields, places(len(row.fields)), strict=True):
            own, other = Proj(of, name), Proj(becomes, place)
            yield own, other, not isinstance(inner, Tuple)
            yield from _paths(inner, own, other)


def _in_places(t: Elem) -> Elem:
    if not isinstance(t, Tuple):
        return t
    inner = (_in_places(own) for _, own in t.fields)
    return Tuple(tuple(zip(places(len(t.fields)), inner, strict=True)))


def _is_compared(term: Term, k: str, values: set[Elem], inside: bool = False) -> bool:
    """Whether of the row ``k`` nothing is read but these ``values``, and only in conditions: what is shown is not."""
    if isinstance(term, Elem) and (k not in free_vars(term) or (inside and term in values)):
        return True
    if isinstance(term, Var):
        return term.name != k
    within = inside or isinstance(term, Pred)
    return all(_is_compared(c, k, values, within) for c in children(term))


def _renamed(e: Expr, paths: Paths) -> Expr:
    """``e``, which reads the record by the names that it has now."""

    def elem(t: Elem) -> Elem:
        return paths[t] if t in paths else rebuild_elem(t, elem)

    return rebuild(e, lambda x: _renamed(x, paths), elem, lambda d: d)
