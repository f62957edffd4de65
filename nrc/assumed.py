"""What a view takes for granted of the fields of its relations.

A source is read as its types are: where a field is never NULL, ``not p.n`` asks whether it is 0; rows that are compared
as a whole are compared by the fields that they have. After a relation has got a field, or NULL in one, the term is the
same and the source would mean another. So the source is read again as if each had happened, and what it is then is
compared with the term as it would be kept (``nrc/renaming.py``).

Law: where nothing is assumed of a change, the kept term is the one that the source is after it. Where the fields are
assumed that are shown, it is, but for what the source makes of a row field by field, as in ``{**p, "more": 1}``, in
``p if p.n > 3 else None`` and of rows that an outer join may not have.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from attrs import evolve

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.printing.text import path as path_text
from ripplenest.nrc.renaming import with_relation
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Assumed, Call, Elem, Empty, Expr, Pred, Query, Sng, Tuple, What
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import EXISTS, UNIT, Bag, Base, Record, Type, may_be_null, nullable
from ripplenest.nrc.walk import canonical, rebuild, rebuild_elem

Rows = Mapping[str, Type]
Again = Callable[[Rows], Query]  # the source, read with rows of other types
Path = tuple[str, ...]
Names = tuple[str, ...]
NEW = "a field that comes"  # which no source has
ROWS = "[]"  # in a path: the rows of a bag


def assumed(q: Query, again: Again) -> tuple[Assumed, ...]:
    """What ``q`` takes for granted. Each path is looked at by itself only where all of them make a difference."""
    found: list[Assumed] = []
    for name, row in q.relations:
        changes = [*_places(row)]
        for kind in dict.fromkeys(what for _, what in changes):
            places = [path for path, what in changes if what == kind]
            if _taken(q, again, name, row, kind, places):
                found += (Assumed(name, p, what) for p in places for what in _taken(q, again, name, row, kind, [p]))
    return tuple(found)


def became(old: Type, new: Type, path: Path = ()) -> Iterator[tuple[Path, What]]:
    """What has become of rows that another type is given to: which of them have more fields, and what may be NULL."""
    if not may_be_null(old) and may_be_null(new):
        yield path, "null"
    match old, new:
        case Bag(a), Bag(b):
            yield from became(a, b, (*path, ROWS))
        case Record(), Record():
            if len(new.fields) > len(old.fields):
                yield path, "fields"
            for (name, a), (_, b) in zip(old.fields, new.fields, strict=False):
                yield from became(a, b, (*path, name))


def outgrown(
    queries: Iterable[Query], relation: str, old: Type, new: Type, renamed: tuple[str, str] | None = None
) -> list[str]:
    """The names of those that go on with rows of ``relation`` as they were, where their sources would show others."""
    rows, become = [*_renewed(old, new)], partial(with_relation, name=relation, row=new, renamed=renamed)
    return sorted(q.name for q in queries if any(_shows(q, relation, become, *row) for row in rows))


def _shows(q: Query, relation: str, become: Callable[[Query], Query], path: Path, names: Names) -> bool:
    """Whether ``q`` shows rows at ``path`` field by field. Where it takes more than that for granted, fields have other
    names only, and it shows what has those ``names`` still when it has ``become`` one of such rows."""
    if Assumed(relation, path, "shown") in q.assumes:
        return True
    return Assumed(relation, path, "fields") in q.assumes and names in _names(expr_type(become(q).body, {}, {}))


def _renewed(old: Type, new: Type, path: Path = ()) -> Iterator[tuple[Path, Names]]:
    """Which rows have other fields, or other names of them, and those that they had."""
    match old, new:
        case Bag(a), Bag(b):
            yield from _renewed(a, b, (*path, ROWS))
        case Record(), Record():
            if old.names != new.names:
                yield path, old.names
            for (name, a), (_, b) in zip(old.fields, new.fields, strict=False):
                yield from _renewed(a, b, (*path, name))


def _names(t: Type) -> Iterator[Names]:
    """The names of the fields of each record in ``t``."""
    match t:
        case Bag(row):
            yield from _names(row)
        case Record(fields):
            yield tuple(name for name in t.names if name != EXISTS)
            for _, inner in fields:
                yield from _names(inner)


def followed(assumes: Iterable[Assumed], relation: str, old: Type, new: Type) -> tuple[Assumed, ...]:
    """The same, of ``relation`` by the names that fields have in its ``new`` rows."""
    return tuple(evolve(a, path=_renamed(a.path, old, new)) if a.relation == relation else a for a in assumes)


def _renamed(path: Path, old: Type, new: Type) -> Path:
    """``path`` of a field of ``old`` rows, as it is called in ``new`` ones."""
    match old, new:
        case Bag(a), Bag(b) if path:
            return (ROWS, *_renamed(path[1:], a, b))
        case Record(), Record() if path:
            at = old.names.index(path[0])
            (_, a), (name, b) = old.fields[at], new.fields[at]
            return (name, *_renamed(path[1:], a, b))
    return path


def shown(relation: str, path: Path) -> str:
    """What ``path`` is called."""
    return path_text(".".join((relation, *(step for step in path if step != ROWS))))


def _places(t: Type, path: Path = ()) -> Iterator[tuple[Path, What]]:
    """The rows that may get a field, and what may become NULL."""
    match t:
        case Bag(row, is_nullable):
            if not is_nullable:
                yield path, "null"
            yield from _places(row, (*path, ROWS))
        case Record(fields):
            if path[-1:] in ((), (ROWS,)):
                yield path, "fields"
            for name, inner in fields:
                yield from _places(inner, (*path, name))
        case Base() if not t.nullable and path[-1:] not in ((), (ROWS,), (EXISTS,)):
            yield path, "null"


def _with(t: Type, what: What, paths: Collection[Path], path: Path = ()) -> Type:
    """``t`` with one more field in rows, or NULL in what has been without it, at these ``paths``."""
    match t:
        case Bag(row, is_nullable):
            return Bag(_with(row, what, paths, (*path, ROWS)), is_nullable or (what == "null" and path in paths))
        case Record(fields, firm):
            more = ((NEW, Base("long", True)),) if what == "fields" and path in paths else ()
            return Record((*((n, _with(f, what, paths, (*path, n))) for n, f in fields), *more), firm)
        case _:
            return nullable(t) if path in paths else t


def _taken(q: Query, again: Again, name: str, row: Type, what: What, paths: Collection[Path]) -> list[What]:
    """What is taken for granted of rows that are ``row`` no more, after a change of some ``paths``: nothing, or one."""
    new = _with(row, what, paths)
    try:
        kept = with_relation(q, name, new)
    except QueryError:
        return [what] if len(paths) > 1 else []  # a change that is refused anyway
    try:
        fresh = again({name: new})
    except QueryError:
        return [what]
    if kept.sorted != fresh.sorted or not _mean_the_same(kept.body, fresh.body, _without):
        return [what]
    return [] if what == "null" or _mean_the_same(kept.body, fresh.body, lambda t: t) else ["shown"]


def _mean_the_same(a: Expr, b: Expr, shown: Callable[[Elem], Elem]) -> bool:
    """Whether two terms are one, or are when they are as simple as they can be; of rows what is ``shown``."""

    def bare(e: Expr) -> Expr:
        return canonical(_bare(e, shown))

    return bare(a) == bare(b) or bare(simplify(a)) == bare(simplify(b))


def _bare(e: Expr, shown: Callable[[Elem], Elem]) -> Expr:
    """``e`` without the types of bags that are empty, and with what is ``shown`` of rows."""
    match e:
        case Sng(head):
            return Sng(shown(head))
        case Empty():
            return Empty(UNIT)
        case Pred(Call("is_true", (cond,))):  # a condition that is NULL is as one that is false
            return _bare(Pred(cond), shown)
        case _:
            return rebuild(e, lambda x: _bare(x, shown), lambda t: t, lambda d: d)


def _without(t: Elem) -> Elem:
    """``t`` without the field that came in what is made field by field."""
    match t:
        case Tuple(fields):
            return Tuple(tuple((n, _without(f)) for n, f in fields if n != NEW))
        case _:
            return rebuild_elem(t, _without)
