"""From a view to its trigger program: the whole pipeline in ``compile_view``.

    nested term → simplify → shred → maps (flat part, dictionaries, domains) → δ of each map for each part it reads
"""

from attrs import frozen

from ripplenest.delta.program import Map, MapKind, Statement, TriggerProgram
from ripplenest.delta.rules import at_new, delta
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.normal import definitions, normal, term
from ripplenest.nrc.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import DictLit, Elem, Expr, Proj, Query, SngBag, Tuple
from ripplenest.nrc.typecheck import check, dict_type
from ripplenest.nrc.types import Label, Record, Type
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.sites import Kept, domain_row, keep, labels_made
from ripplenest.shred.terms import Shredded, shred


@frozen
class Stages:
    """What each pass made of a view, for explain."""

    typed: Expr
    row: Type
    shredded: Shredded
    sites: tuple[DictLit, ...]
    program: TriggerProgram


def compile_view(query: Query, force_domain: bool = False) -> Stages:
    """Every stage from the nested term to the trigger program. ``force_domain``: every dictionary has a domain.

    Raises QueryError for a term that is not well typed, or whose sites are not apart.
    """
    row = check(query.body).row
    _check_sites(query)
    nested = simplify(query.body)
    raw = shred(nested)
    shredded = Shredded(simplify(raw.flat), raw.context)
    sites = _sites(shredded)
    maps = _maps(query.name, shredded, sites, force_domain)
    parts = _parts(query)
    program = TriggerProgram(query.name, row, parts, maps, _statements(maps, parts), query.relations)
    return Stages(nested, row, shredded, sites, program)


def _check_sites(query: Query) -> None:
    """Each ι is made in one place, and is no stored part: definitions are found by the names of sites."""
    taken = set(_parts(query))
    for node in nodes(query.body):
        if isinstance(node, SngBag):
            if node.site in taken:
                raise QueryError("the site of an inner bag has a name of its own", where=query.name, got=node.site)
            taken.add(node.site)


def _sites(shredded: Shredded) -> tuple[DictLit, ...]:
    """The definition of every site that the view's own context holds, simplified; outer sites first."""
    found: dict[str, DictLit] = {}
    for d in dictionaries(shredded.context):
        for parts in definitions(d).values():
            for part in parts:
                if isinstance(part, DictLit) and part.site.name not in found:
                    simple = simplify_dict(part)
                    assert isinstance(simple, DictLit)
                    found[part.site.name] = simple
    return tuple(found.values())


def _parts(query: Query) -> dict[str, Type]:
    return {part: row for name, a in query.relations for part, row in stored_parts(name, a).items()}


# ---------------------------------------------------------------- maps


def dictionary_name(view: str, site: str) -> str:
    return f"{view}/D[{site}]"


def domain_name(view: str, site: str) -> str:
    return f"{view}/Dom[{site}]"


def _maps(view: str, shredded: Shredded, sites: tuple[DictLit, ...], force_domain: bool) -> tuple[Map, ...]:
    flat_row = check(shredded.flat).row
    products = normal(shredded.flat)
    flat = Map(view, MapKind.FLAT, flat_row, term(products, flat_row), products)
    kept = {d.site.name: keep(d, domain_name(view, d.site.name), force_domain) for d in sites}
    tables = [_dictionary(view, d, kept[d.site.name]) for d in sites]
    domains = [_domain(view, d, [flat, *tables]) for d in sites if kept[d.site.name].domain]
    return (flat, *domains, *tables)


def _dictionary(view: str, d: DictLit, kept: Kept) -> Map:
    row = Record((("label", Label((d.site,))), ("row", dict_type(d, {}, {}).row)))
    name = dictionary_name(view, d.site.name)
    return Map(name, MapKind.DICTIONARY, row, term(kept.products, row), kept.products, d.site, kept.why)


def _domain(view: str, d: DictLit, holders: list[Map]) -> Map:
    """Dom_ι: every label of the site that the flat part or a dictionary holds, with a count."""
    products = tuple(
        made
        for m in holders
        for c in m.products
        for made in labels_made(c, *_held(c.head, m), d.site)
    )
    row = domain_row(d.site)
    why = f"the labels of {d.site.name} in use"
    return Map(domain_name(view, d.site.name), MapKind.DOMAIN, row, term(products, row), products, d.site, why)


def _held(head: Elem, m: Map) -> tuple[Elem, Type]:
    """The part of a map's row that holds labels of the output: for a dictionary its row, not its own label."""
    if m.kind is MapKind.FLAT:
        return head, m.row
    assert isinstance(m.row, Record)
    row_type = m.row.get("row")
    assert row_type is not None
    inner = head.get("row") if isinstance(head, Tuple) else Proj(head, "row")
    assert inner is not None
    return inner, row_type


# ---------------------------------------------------------------- statements


def _statements(maps: tuple[Map, ...], parts: dict[str, Type]) -> tuple[Statement, ...]:
    order = (*parts, *(m.name for m in maps if m.kind is MapKind.DOMAIN))
    return tuple(
        _statement(m, part, frozenset(order[:i])) for m in maps for i, part in enumerate(order) if part in m.reads
    )


def _statement(m: Map, part: str, before: frozenset[str]) -> Statement:
    change = at_new(delta(m.term, frozenset((part,)), telescoped=True), before)
    return Statement(m.name, part, change, normal(change))
