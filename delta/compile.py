"""From a view to its trigger program: the whole pipeline in ``compile_view``, and what comes before δ in ``front``.

    nested term → simplify → shred → maps (flat part, dictionaries, domains) → δ of each map for each part it reads, and
    of what is kept of these deltas (auxiliary maps)

Domains count in positive weights. Dom_ι is the projection on labels of the products that put them anywhere, with ⊖
read as ⊎. Inputs have no negative rows, so a count above 0 is a superset of the labels in use even where ⊎ and ⊖
cancel. It is linear, and so maintained like any map; readers see each label with a count above 0 once. One label too
many is harmless.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain

from attrs import evolve, field, frozen

from ripplenest.cost.pairs import paired
from ripplenest.delta.choice import by_cost
from ripplenest.delta.groups import tops
from ripplenest.delta.groups.alike import Alike
from ripplenest.delta.groups.circles import Groups, Sites, circle, circles, opened, reading
from ripplenest.delta.groups.fuse import fuse_nested
from ripplenest.delta.groups.joined import with_joins
from ripplenest.delta.groups.ranking import Ranking
from ripplenest.delta.groups.same import read_once, read_once_dict
from ripplenest.delta.groups.shared import shared
from ripplenest.delta.groups.strata import Cut, Cutter
from ripplenest.delta.groups.trees import with_trees
from ripplenest.delta.limited import limited
from ripplenest.delta.materialize import Choice, Materialize, Materialized, decision, materialize
from ripplenest.delta.naming import check_names
from ripplenest.delta.program import Map, MapKind, TriggerProgram, in_turn, strata
from ripplenest.nrc.errors import NameTaken
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.greatest import greatest
from ripplenest.nrc.rewriting.normal import definitions, is_partial, normal, term
from ripplenest.nrc.rewriting.once import once
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.rewriting.rewritten import rewritten
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.rewriting.sink import sink
from ripplenest.nrc.rewriting.sooner import sooner
from ripplenest.nrc.syntax import (
    DictLit,
    Elem,
    Expr,
    GroupRel,
    Keys,
    Proj,
    Query,
    SngBag,
    Tuple,
)
from ripplenest.nrc.typecheck import check, check_sorted, dict_type
from ripplenest.nrc.types import Label, Record, Type
from ripplenest.nrc.walk import nodes
from ripplenest.shred.always import asked_first
from ripplenest.shred.contexts import dictionaries, parts_of
from ripplenest.shred.domains import domain_row, labels_made, places_asked
from ripplenest.shred.sites import Definition, KeptDictionary, defined, keep, must_be_held, partial_sites
from ripplenest.shred.terms import Shredded, shred

Sizes = tuple[tuple[str, int], ...]


def _sorted(sizes: Mapping[str, int] | Sizes) -> Sizes:
    return tuple(sorted(dict(sizes).items()))


@frozen
class Options:
    """How a view is compiled. Equal options give equal programs, so they are stored with a view.

    ``materialize`` says which auxiliary maps are kept; for "cost", ``rows`` are the rows of stored parts and
    ``changes`` those of a usual batch, and ``keys`` the columns by which a row is the only one, by part
    (``delta/choice.py`` says what is assumed where nothing is said).
    ``force_domain``: every dictionary has a domain.
    """

    materialize: Materialize = "cost"
    rows: Sizes = field(default=(), converter=_sorted)
    changes: Sizes = field(default=(), converter=_sorted)
    force_domain: bool = False
    keys: Keys = ()

    @property
    def unique(self) -> dict[str, list[frozenset[str]]]:
        """By part, the sets of columns that are unique."""
        return {part: [frozenset(columns)] for part, columns in self.keys}


@frozen
class Stages:
    """What each pass made of a view, for explain."""

    typed: Expr
    row: Type
    shredded: Shredded
    sites: tuple[DictLit, ...]
    program: TriggerProgram
    choices: tuple[Choice, ...]


@frozen
class Front:
    """A view up to its own maps, which a batch changes in ``turns``; nothing is derived of them yet."""

    query: Query
    options: Options
    typed: Expr
    row: Type
    shredded: Shredded
    sites: tuple[DictLit, ...]
    parts: dict[str, Type]
    maps: tuple[Map, ...]
    turns: tuple[str, ...]


def compile_view(query: Query, options: Options = Options()) -> Stages:
    """Every stage from the nested term to the trigger program.

    Raises QueryError for a term that is not well typed, or whose sites are not apart; NameTaken for a view called like
    what it reads; TooDeep or TooBig, naming the view and the pass, when a pass makes more than the limits allow.
    """
    return derived(front(query, options))


def front(query: Query, options: Options) -> Front:
    """The stages before anything is derived."""
    with limited(query.name):
        return _front(query, options)


def _front(query: Query, options: Options) -> Front:
    nested, row = _typed(query)
    shredded, sites = _shredded(rewritten(nested, dict(query.relations), options.keys, fuse_nested), query.keys)
    cutter = Cutter.of(query.name, (shredded.flat, *sites))
    flat, closed = cutter.term(shredded.flat), tuple(map(cutter.definition, sites))
    cuts = tuple(cutter.found.values())
    kept = _kept(query.name, flat, (), cuts, options)
    everywhere = frozenset(c.name for c in cuts if not kept[c.definition.site.name].domain)
    alike = Alike(everywhere)
    alike.add(cuts)
    if len(alike.cuts) < len(cuts) and _ask_themselves(query.name, alike, flat, closed, options):
        alike = Alike(everywhere, edges=False)
        alike.add(cuts)
    parts = parts_of(query)
    flat = alike.term(flat)
    common = shared(alike.cuts, _kept(query.name, flat, (), alike.cuts, options), parts)
    flat = read_once(common.term(flat))
    closed = tuple(read_once_dict(common.definition(alike.definition(d))) for d in closed)
    groups = tuple(evolve(c, definition=read_once_dict(c.definition)) for c in map(common.cut, alike.cuts))
    closed, maps = _maps(query.name, flat, closed, groups, options, cutter.names.fresh)
    turns = (*sorted(parts), *in_turn(strata(maps)))
    return Front(query, options, nested, row, Shredded(flat, shredded.context), closed, parts, maps, turns)


def derived(f: Front) -> Stages:
    """The stages of a view, with statements for its maps."""
    options = f.options
    unique = options.unique
    by_estimate = by_cost(f.maps, f.parts, dict(options.rows), dict(options.changes), unique)
    with limited(f.query.name):
        return completed(f, materialize(f.maps, f.turns, decision(options.materialize, by_estimate), unique))


def completed(f: Front, made: Materialized) -> Stages:
    """A view with the statements of its maps."""
    _check_apart(f.query.name, f.parts, (*f.maps, *made.maps))
    every = with_trees((*made.own, *made.maps))
    shown = (("", f.query.sorted), *((n.site, n.sorted) for n in nodes(f.typed) if isinstance(n, SngBag)))
    orders = tuple((site, order) for site, order in shown if order)
    about = (f.query.relations, f.query.keys, orders, f.options.keys)
    program = TriggerProgram(f.query.name, f.row, f.parts, every, made.statements, f.turns, *about)
    return Stages(f.typed, f.row, f.shredded, f.sites, program, made.choices)


def _typed(query: Query) -> tuple[Expr, Type]:
    """The simplified term and the row type of the view."""
    check_limits(query.body, f"view {query.name}")
    row = check(query.body).row
    check_sorted(query.sorted, row, query.name)
    check_positive(query.body)
    check_names(query)
    nested = simplify(sink(sooner(greatest(exact(simplify(once(query.body)))))))
    check_limits(nested, f"view {query.name}, simplified")
    return nested, row


def _shredded(nested: Expr, keys: Keys) -> tuple[Shredded, tuple[DictLit, ...]]:
    """h^F and h^Γ, and the definition of every site."""
    raw = shred(nested, keys)
    shredded = Shredded(simplify(raw.flat), raw.context)
    sites = _sites(shredded)
    for h in (shredded.flat, *sites):
        check_limits(h, "shredding")
    return shredded, sites


def _check_apart(view: str, parts: Mapping[str, Type], maps: Sequence[Map]) -> None:
    """No map is called like a part that the view reads: surfaces and databases refuse such names of relations, but for
    states that had them before (``nrc/reserved.py``)."""
    for m in maps:
        if m.name in parts:
            what = "the view reads a relation with the name of one of its maps"
            raise NameTaken(what, where=f"view {view}", got=m.name, possible=["another name"])


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


# ---------------------------------------------------------------- maps


def dictionary_name(view: str, site: str) -> str:
    return f"{view}/D[{site}]"


def domain_name(view: str, site: str) -> str:
    return f"{view}/Dom[{site}]"


def _maps(
    view: str, h: Expr, sites: Sites, cuts: Groups, options: Options, fresh: Callable[[str], str]
) -> tuple[Sites, tuple[Map, ...]]:
    """Definitions, and the maps of the flat term ``h``, of these and of groups; those that pass on in the order of
    their turns. Groups that would read each other in a circle are asked for without each other, or copied."""
    apart: frozenset[str] = frozenset()
    while True:
        flat, passing, tables = _unordered(view, h, sites, cuts, options, apart)
        found = circle(passing)
        if found - apart:
            apart |= found
            continue
        if not found:
            every = {m.name: m for m in with_joins((flat, *_inner_last(passing), *tables), options.unique)}
            flat, *tables = (every.pop(m.name) for m in (flat, *tables))
            return sites, (flat, *_inner_last([*every.values()]), *tables)
        asked = [*(d.site.name for d in sites), *(name for c in cuts for name in (c.name, c.definition.site.name))]
        sites, cuts = opened(h, sites, cuts, [s for s in asked if domain_name(view, s) in found], fresh)


def _unordered(
    view: str, h: Expr, sites: Sites, cuts: Groups, options: Options, apart: Collection[str]
) -> tuple[Map, list[Map], list[Map]]:
    """The flat map, those that pass on, and the dictionaries. Domains that are ``apart`` read no group that does not
    say alone which places there are."""
    flat_row = check(h).row
    products = normal(h)
    flat = Map(view, MapKind.FLAT, flat_row, term(products, flat_row), products)
    kept = _kept(view, h, sites, cuts, options)
    tables = [_dictionary(view, d, kept[d.site.name]) for d in sites]
    groups = [m for c in cuts for m in _cut(view, c, kept[c.definition.site.name])]
    domains = [_domain(view, d, [flat, *tables]) for d in sites if kept[d.site.name].domain]
    readers = [flat, *tables, *groups]
    asked = [c for c in cuts if kept[c.definition.site.name].domain or tops.has_edge(c)]
    domains += [_places(view, c, kept[c.definition.site.name], readers, apart) for c in asked]
    domains += [
        tops.places(c, domain_name(view, c.name), domain_name(view, c.definition.site.name))
        for c in cuts
        if isinstance(c, Ranking) and c.edge is not None and kept[c.definition.site.name].domain
    ]
    once = {m.name: m for m in (*domains, *groups)}  # several are the first of the same rows, by other orders
    return flat, [*once.values()], tables


def _kept(view: str, h: Expr, sites: Sites, cuts: Groups, options: Options) -> dict[str, KeptDictionary]:
    """By site how each dictionary is kept, and each group."""
    bodies = {d.site.name: defined(d) for d in (*(c.definition for c in cuts), *sites)}
    every, always = tuple(bodies.values()), asked_first(h)
    gaps = partial_sites(every, always, _read(cuts, every))
    held_only = must_be_held(every, always, gaps)
    kept: dict[str, KeptDictionary] = {}
    for site, d in bodies.items():  # inner groups first
        known = [c for c in cuts if c.definition.site.name in kept]
        whole = frozenset(c.name for c in known if not kept[c.definition.site.name].domain and not tops.has_edge(c))
        places = whole if cuts else None
        name, why = domain_name(view, site), held_only.get(site)
        found = keep(d, name, options.force_domain, why, places, partial(paired, keys=options.unique))
        kept[site] = evolve(found, partial=site in gaps or is_partial(d.d.body))
    return kept


def _read(cuts: Groups, sites: Sequence[Definition]) -> dict[str, set[str]]:
    """By site the sites of the groups that its definition reads."""
    of = {c.name: c.definition.site.name for c in cuts}
    every = {s.site.name: (n for n in nodes(s.d.body) if isinstance(n, GroupRel)) for s in sites}
    return {site: {of[n.name] for n in read if n.name in of} for site, read in every.items()}


def _inner_last(passing: list[Map]) -> list[Map]:
    """Maps behind those that they read: a dictionary that has a domain can hold labels of another, and groups are made
    of what others answer."""
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    by_name = {m.name: m for m in passing}
    return [by_name[name] for name in nx.topological_sort(reading(passing))]


def _ask_themselves(view: str, alike: Alike, h: Expr, sites: Sites, options: Options) -> bool:
    """Whether first rows behind edges would be asked for at what they answer, as those that are alike are one."""
    domains = {domain_name(view, c.name) for c in alike.cuts if tops.has_edge(c)}
    if not domains:
        return False
    apart, closed = [domain_name(view, c.name) for c in alike.cuts], tuple(map(alike.definition, sites))
    _, passing, _ = _unordered(view, alike.term(h), closed, alike.cuts, options, apart)
    return any(domains & found for found in circles(passing))


def _cut(view: str, c: Cut | Ranking, kept: KeptDictionary) -> tuple[Map, ...]:
    """The map of a group; of first rows, that of all rows in order, and that of the first."""
    if isinstance(c, Cut):
        made = term(kept.products, c.made)
        return (Map(c.name, MapKind.GROUP, c.visible, made, kept.products, c.site, kept.why, c, at=c.at),)
    return tops.all_rows(c, kept), tops.first_rows(c, domain_name(view, c.name))


def _places(
    view: str, c: Cut | Ranking, kept: KeptDictionary, readers: list[Map], apart: Collection[str]
) -> Map:
    """Dom_α: the places that products ask the group for, with a count."""
    name = domain_name(view, c.name)
    asked = (places_asked(p, c.site, kept.partial, name not in apart) for m in readers for p in m.products)
    products = tuple(chain.from_iterable(asked))
    row = domain_row(c.site)
    why = f"the places of {c.name} in use"
    return Map(name, MapKind.DOMAIN, row, term(products, row), products, c.site, why)


def _dictionary(view: str, d: DictLit, kept: KeptDictionary) -> Map:
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
