"""The maps of first rows: all rows of a place, kept in order, and the first of them, which are made of these alone.

Behind an edge the latter are made of the rows of a group and of the places that are asked for (``nearest.py``). What
these are is a domain; if the rows need one as well, it has the groups of these places.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from ripplenest.delta.groups.ranking import ASKED, Ranking
from ripplenest.delta.groups.strata import Cut
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import Elem, InL, Lit, OutL, Proj, Rel, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, Kind, Record, Type
from ripplenest.shred.domains import domain_row
from ripplenest.shred.sites import KeptDictionary

ANY: Mapping[Kind, object] = {
    "bool": False,
    "int": 0,
    "long": 0,
    "double": 0.0,
    "decimal": Decimal(0),
    "string": "",
    "date": date(1970, 1, 1),
    "timestamp": datetime(1970, 1, 1, tzinfo=UTC),
    "binary": b"",
}


def has_edge(c: Cut | Ranking) -> bool:
    """Whether only places that are asked for have rows, whatever its rows are made of."""
    return isinstance(c, Ranking) and c.edge is not None


def all_rows(c: Ranking, kept: KeptDictionary) -> Map:
    """O, as its definition is ``kept``."""
    rows, site = c.kept_rows, c.definition.site
    return Map(c.kept, MapKind.ORDERED, rows, term(kept.products, rows), kept.products, site, kept.why, at=c.at)


def first_rows(c: Ranking, places: str) -> Map:
    """T; behind an edge of the places in a domain of that name."""
    copied = (_of_rows(c),) if c.edge is None else (_of_rows(c), _of_places(c, places))
    why = f"the first rows of {c.kept}" + " behind an edge" * (c.edge is not None)
    return Map(c.name, MapKind.TOP, c.visible, term(copied, c.made), copied, c.site, why, ranking=c, at=c.at)


def places(c: Ranking, asked: str, name: str) -> Map:
    """for l in Dom_T union sng⟨Π(l)⟩: the groups of the places ``asked`` for, with a count."""
    row = domain_row(c.definition.site)
    head = Tuple(tuple((p, Proj(Var("l"), own)) for own, p in _both(c)))
    products = (Comprehension((("l", Rel(asked, domain_row(c.site))),), (), head),)
    why = f"the places of {c.kept} in use"
    return Map(name, MapKind.DOMAIN, row, term(products, row), products, c.definition.site, why)


def _of_rows(c: Ranking) -> Comprehension:
    """for y in O union sng⟨⟨Π(y)⟩, y.row⟩; behind an edge with anything for its value."""
    label, row = Proj(Var("y"), "label"), Proj(Var("y"), "row")
    place: list[tuple[str, Elem]] = [(own, OutL(label, c.definition.site, p)) for own, p in _both(c)]
    asked: tuple[tuple[str, Elem], ...] = ()
    if c.edge is not None:
        more = c.site.params[len(place) :]
        place += [(p, anything(t)) for p, t in more]
        asked = ((ASKED, Lit(False, BOOL)),)
    made = Tuple((("label", InL(c.site.name, tuple(place))), ("row", row), *asked))
    return Comprehension((("y", Rel(c.kept, c.kept_rows)),), (), made)


def _of_places(c: Ranking, asked: str) -> Comprehension:
    """for l in Dom_T union sng⟨⟨Π(l),v(l),c(l)⟩, –, true⟩"""
    label = InL(c.site.name, tuple((p, Proj(Var("l"), p)) for p, _ in c.site.params))
    row = anything(elem_type(Proj(Var("y"), "row"), {"y": c.kept_rows}))
    made = Tuple((("label", label), ("row", row), (ASKED, Lit(True, BOOL))))
    return Comprehension((("l", Rel(asked, domain_row(c.site))),), (), made)


def _both(c: Ranking) -> Iterator[tuple[str, str]]:
    """The parameters of its places that those of its definition are."""
    pairs = zip(c.site.params, c.definition.site.params, strict=c.edge is None)
    return ((own, p) for (own, _), (p, _) in pairs)


def anything(t: Type) -> Elem:
    """Some value, where it does not matter which."""
    match t:
        case Base(kind):
            return Lit(None if t.nullable else ANY[kind], t)
        case Record(fields):
            return Tuple(tuple((name, anything(own)) for name, own in fields))
        case _:
            raise LawBroken("rows in order that hold more than values", got=t)
