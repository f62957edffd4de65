"""Dom_ι, the labels of a site that are in use, and Dom_α, the places of a group that are asked for."""

from collections.abc import Iterable, Iterator, Mapping, Set

from attrs import evolve

from ripplenest.nrc.rewriting.equations import EQUALITIES, equations, place_asked, place_told
from ripplenest.nrc.rewriting.normal import Comprehension, is_total, never_true
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, Elem, Grouped, InL, IsSite, OutL, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Label, Record, Site, Type, may_be_null
from ripplenest.nrc.walk import free_vars, nodes


def places_asked(c: Comprehension, site: Site, fails: bool, by_groups: bool) -> Iterator[Comprehension]:
    """The places for which the product ``c`` reads the map of the group at ``site``, as rows of its domain. Other
    groups may join the rows that say them, if ``by_groups``.

    What does not say which places these are is left out of the product, and what can fail: a place too many is
    harmless, as a label is. Not so where the group ``fails`` for some places: then it is asked for none that a
    condition leaves out, and so for those alone for which there are rows of others that conditions compare with it.
    Nor where what can fail says for which places other groups are read.
    """
    for var, rel in c.generators:
        if isinstance(rel, Grouped) and rel.name == site.name:
            place = place_asked(c, var, rel, alone=not fails)
            others = {v for v, r in c.generators if isinstance(r, Grouped) and r.name != site.name and by_groups}
            needed = guarding(c, var, free_vars(place), others) if fails else free_vars(place)
            kept = binding(c, needed, not fails, others)
            types = {v: r.row for v, r in kept.items()}
            known = [t for t in c.conditions if free_vars(t) <= kept.keys()]
            is_alone = all(v in kept or isinstance(r, Total) for v, r in c.generators)
            sure = [t for t in known if is_total(t, types)]
            asked = known if (fails and is_alone) or any(_tells(t, kept) for t in known if t not in sure) else sure
            found = Comprehension(tuple(kept.items()), tuple(asked), Tuple(place.args))
            yield evolve(found, conditions=(*found.conditions, *_told(c, found, not fails)))


def guarding(c: Comprehension, var: str, needed: frozenset[str], groups: Set[str]) -> frozenset[str]:
    """The sources ``needed``, and those with which conditions of ``c`` compare them before ``var`` is read; of groups
    the ``groups`` that come before it. All others that come before it, where nothing says which place there is."""
    types, sources = c.variables(), [*dict(c.generators)]
    before = {*sources[: sources.index(var)]}
    known = {v for v, rel in c.generators if not isinstance(rel, Grouped) or v in groups & before}
    needed = needed or frozenset(known & before)
    asked = [free_vars(t) for t in c.conditions if is_total(t, types) and free_vars(t) <= known]
    while more := frozenset[str]().union(*(read for read in asked if read & needed)) - needed:
        needed |= more
    return needed


def _told(c: Comprehension, kept: Comprehension, alone: bool) -> Iterator[Elem]:
    """For which places folds are read, where ``c`` says that by way of sources that are not ``kept``."""
    types = kept.variables()
    for var, rel in kept.generators:
        if isinstance(rel, Total) and place_told(kept, var, rel, alone) is None:
            known = {a for a, _ in equations(kept, EQUALITIES)}
            for p, t in place_asked(c, var, rel, alone).args:
                own = OutL(Proj(Var(var), "label"), rel.place, p)
                if own not in known and not isinstance(t, InL):
                    yield Call("same" if may_be_null(elem_type(t, types)) else "eq", (own, t))


def binding(
    c: Comprehension, needed: frozenset[str], alone: bool = True, groups: Set[str] = frozenset()
) -> dict[str, Rel]:
    """The generators ``needed``, those that say for which places of a group these are read, and those by which they are
    joined, among them rows of ``groups``: without them, rows that have nothing to do with each other would be pairs."""
    known, found = set[str](), {*_asked(c, needed, alone)}
    while known != found:
        known, found = found, {*_asked(c, found | {*_between(c, found, groups)}, alone)}
    return {var: rel for var, rel in c.generators if var in found}


def _asked(c: Comprehension, needed: Set[str], alone: bool) -> Iterator[str]:
    """The sources that are ``needed``, and those that say which rows of groups these are."""
    rels, todo, found = dict(c.generators), [*needed], {*needed}
    while todo:
        yield (var := todo.pop())
        if isinstance(rel := rels[var], Total):
            more = free_vars(place_asked(c, var, rel, alone)) - found
            found |= more
            todo += more


def asked_apart(c: Comprehension, columns: Iterable[Elem]) -> list[str]:
    """Of each component of sources that the conditions of ``c`` join, one whose columns these are. Several are joined
    by who asks for all of them, and by nothing else: without that they are pairs, each with each."""
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(var for var, _ in c.generators)
    graph.add_edges_from(_equated(c))
    known = {var for column in columns for var in free_vars(column)}
    asked = (sorted(part & known) for part in nx.connected_components(graph))
    return [variables[0] for variables in asked if variables]


def _between(c: Comprehension, found: Set[str], groups: Set[str]) -> Iterator[str]:
    """Sources on the ways by which those that are ``found`` are equated with each other. What tells the place of a fold
    that has a row for each is joined by its answer, and not by the place."""
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(var for var, rel in c.generators if var in found | groups or not isinstance(rel, Grouped))
    graph.add_edges_from(ends for ends in _equated(c) if graph.nodes >= {*ends})
    known = [var for var in graph if var in found]
    for i, var in enumerate(known):
        near = next((other for other in known[:i] if nx.has_path(graph, other, var)), var)
        yield from nx.shortest_path(graph, near, var)


def _equated(c: Comprehension) -> Iterator[tuple[str, str]]:
    """Which two sources are equated, where that can be asked of all of their rows."""
    types = {var: rel.row for var, rel in c.generators}
    told: dict[str, set[tuple[str, str]]] = {var: set() for var, rel in c.generators if isinstance(rel, Total)}
    for t in c.conditions:
        match t, sorted(free_vars(t)):
            case Call("eq" | "same"), [a, b] if is_total(t, types):
                totals = ((v, r) for v, r in c.generators if v in told and isinstance(r, Total))
                of = [v for v, r in totals if v in (a, b) and "" not in _parameter(t, v, r)]
                for var in of:
                    told[var].add((a, b))
                if not of:
                    yield a, b
    yield from (pair for pairs in told.values() if len(pairs) == 1 for pair in pairs)


def _tells(condition: Elem, rels: Mapping[str, Rel]) -> bool:
    """Whether it says for which place a group is read that has a row for every place."""
    places = {Proj(Var(v), "label") for v, rel in rels.items() if isinstance(rel, Total)}
    return any(n in places for n in nodes(condition))


def domain_row(site: Site) -> Record:
    """The rows of Dom_ι: the values of Π."""
    return Record(site.params)


def label_leaves(t: Elem, a: Type) -> Iterator[tuple[Elem, Label]]:
    """The labels that a flat row ``t`` of type ``a`` holds: one for each inner bag."""
    match a:
        case Record(fields):
            for name, inner in fields:
                yield from label_leaves(simplify_elem(Proj(t, name)), inner)
        case Label():
            yield t, a
        case _:
            return


def labels_made(c: Comprehension, row: Elem, row_type: Type, site: Site) -> Iterator[Comprehension]:
    """The labels of ``site`` that the product ``c`` puts into ``row``, as rows of the domain.

    Weights are taken positive, and times as 1, which conditions say are not 0: inputs have no negative rows, so the
    count of a label is then above 0 wherever some row can hold it, even where a view's ⊎ and ⊖ cancel. A label too many
    is harmless; one too few is a wrong answer.
    """
    c = evolve(c, weight=abs(c.weight), times=())
    for label, kind in label_leaves(row, row_type):
        made_there = IsSite(label, site.name)
        if kind.site(site.name) is None or never_true(made_there, c.variables()):
            continue
        head = Tuple(tuple((p, simplify_elem(OutL(label, site, p))) for p, _ in site.params))
        if isinstance(label, InL):
            if label.site == site.name:
                yield _without_totals(evolve(c, head=head))
        else:
            yield _without_totals(evolve(c, conditions=(*c.conditions, made_there), head=head))


def _without_totals(c: Comprehension) -> Comprehension:
    """``c`` without the folds that have a row for every place, where nothing is read of them but which place it is:
    there is one row of each, whatever they answer. The labels beside a total do not change when the total does."""
    for var, rel in reversed(c.generators):
        if isinstance(rel, Total) and var not in free_vars(c.head):
            asked = [t for t in c.conditions if var in free_vars(t)]
            if sorted(p for t in asked for p in _parameter(t, var, rel)) == sorted(p for p, _ in rel.place.params):
                generators = tuple(g for g in c.generators if g[0] != var)
                c = evolve(c, generators=generators, conditions=tuple(t for t in c.conditions if t not in asked))
    return c


def _parameter(t: Elem, var: str, rel: Total) -> Iterator[str]:
    """The parameter of the place of ``var`` that ``t`` equates with something else; "" if it says anything else."""
    own = {OutL(Proj(Var(var), "label"), rel.place, p): p for p, _ in rel.place.params}
    match t:
        case Call("eq" | "same", (a, b)) if a in own and var not in free_vars(b):
            yield own[a]
        case Call("eq" | "same", (a, b)) if b in own and var not in free_vars(a):
            yield own[b]
        case _:
            yield ""
