"""What the conditions of a product equate, and for which place it reads the map of a group."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ripplenest.nrc.functions.signatures import maybe_null
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import TRUE, Call, Elem, Grouped, InL, IsSite, Lit, OutL, Placed, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Label, Record, Site, Type, may_be_null
from ripplenest.nrc.walk import free_vars, nodes

EQUALITIES = ("eq", "same")


def same_values(a: Elem, b: Elem, t: Type, of_b: bool = False) -> Iterator[Elem]:
    """a = b, NULL and NaN being values like others, for each base value in them. ``of_b``: ``t`` is the type of b, and
    what is never NULL there is the same as what it equals, so that NULL is none of the values that are looked up."""
    match t:
        case Record(fields):
            for name, own in fields:
                yield from same_values(simplify_elem(Proj(a, name)), Proj(b, name), own, of_b)
        case _:
            yield Call("eq" if of_b and not may_be_null(t) else "same", (a, b))


def equations(c: Comprehension, equal: Sequence[str]) -> Iterator[tuple[Elem, Elem]]:
    """Pairs that are equal wherever the product has a row, each from both of its sides, by the functions ``equal``."""
    same: dict[tuple[Elem, Elem, Site], set[str]] = defaultdict(set)
    alike: dict[tuple[Elem, Elem], set[str]] = defaultdict(set)
    for cond in c.conditions:
        match cond:
            case Call(fn, (a, b)) if fn in equal:
                yield a, b
                yield b, a
                if isinstance(a, OutL) and isinstance(b, OutL) and (a.site, a.param) == (b.site, b.param):
                    same[a.label, b.label, a.site].add(a.param)
                if isinstance(a, IsSite) and isinstance(b, IsSite) and a.site == b.site:
                    alike[a.label, b.label].add(a.site)
    for (a, b, site), equated in same.items():
        if equated == {name for name, _ in site.params}:  # labels of one site are equal when all their parameters are
            yield a, b
            yield b, a
    for (a, b), names in alike.items():
        if _sites(a, c) == {Site(name, ()) for name in names}:  # so they are when one site made both, and none has any
            yield a, b
            yield b, a


def _sites(label: Elem, c: Comprehension) -> frozenset[Site]:
    """The sites of a label of ``c``; none where it does not say."""
    types = c.variables()
    if isinstance(label, OutL):
        t = dict(label.site.params)[label.param]
    elif free_vars(label) <= types.keys():
        t = elem_type(label, types)
    else:
        return frozenset()
    return frozenset(t.sites) if isinstance(t, Label) else frozenset()


def place_asked(c: Comprehension, var: str, rel: Grouped, alone: bool = True) -> InL:
    """The label for which ``c`` reads the map of a group, whose rows are ``var`` there: of what is known without it."""
    found = place_told(c, var, rel, alone)
    assert found is not None
    return found


def place_told(c: Comprehension, var: str, rel: Grouped, alone: bool = True) -> InL | None:
    """The same; None where ``c`` reads rows of several places. It is of one source, where one tells it ``alone``: the
    others need not be there for the place to be asked for."""
    site = rel.place
    own = Proj(Var(var), "label")
    known = [*equations(c, EQUALITIES)]
    pairs = [*known, *_composed(known)]
    absent: dict[Elem, Elem] = {a: b for a, b in _absent(c) if free_vars(a) == {var}}
    types = c.variables()
    told = {a: b for a, b in pairs if var in free_vars(a) and var not in free_vars(b)}
    found = _label(own, site, {**absent, **told})
    of = free_vars(found) if alone and found is not None else frozenset()
    sources = (x for x in c.variables() if len(of) > 1 and x in of)
    ways = (_label(own, site, {**absent, **dict(_told_by(x, var, pairs, types))}) for x in sources)
    return next((way for way in ways if way is not None), found)


def _told_by(
    x: str, var: str, pairs: Sequence[tuple[Elem, Elem]], types: Mapping[str, Type]
) -> Iterator[tuple[Elem, Elem]]:
    """What of the row ``var`` is equated with something of x, also by way of others; with nothing that is NULL where
    that never is."""
    for a in dict.fromkeys(a for a, _ in pairs if free_vars(a) == {var}):
        known, todo = {a: None}, [a]  # in order: which of them is taken must not depend on hashes
        while todo:
            more = [b for own, b in pairs if own == todo[-1] and b not in known]
            todo = [*todo[:-1], *more]
            known |= dict.fromkeys(more)
        is_never = not may_be_null(elem_type(a, types))
        found = (b for b in known if free_vars(b) == {x})
        yield from ((a, b) for b in found if not (is_never and may_be_null(elem_type(b, types))))


def _absent(c: Comprehension) -> Iterator[tuple[OutL, Lit]]:
    """The parameters of labels, at any depth, that are NULL wherever the product has a row."""
    for t in c.conditions:
        match t:
            case Call("is_null", (OutL(_, site, param) as own,)) if isinstance(of := dict(site.params)[param], Base):
                yield own, Lit(None, maybe_null(of, True))


def computed(c: Comprehension, var: str, rel: Placed) -> Iterator[Elem]:
    """The conditions of ``c`` on what is computed in the label of ``var``, if others equate all that it is computed of.

    Law: where these are true, so are they, for what asks for a place computes the same.
    """
    own = {p: OutL(Proj(Var(var), "label"), rel.place, p) for p, _ in rel.place.params}
    told = (*EQUALITIES, "is_null")
    sides = [(t, side) for t in c.conditions if isinstance(t, Call) and t.fn in told for side in t.args]
    columns = [(t, {*nodes(side)}) for t, side in sides if column_of(side) is not None]
    asked = {p: [t for t, parts in columns if part in parts] for p, part in own.items()}
    if all(asked[p] for p in own if p not in rel.computed):
        yield from (t for p in own if p in rel.computed for t in asked[p])


def _composed(pairs: Sequence[tuple[Elem, Elem]]) -> Iterator[tuple[Elem, Elem]]:
    """The labels that are equal as well because labels are that they are made of, at any depth."""
    same: dict[tuple[Elem, Elem, Site], set[str]] = defaultdict(set)
    known, todo = {*pairs}, [*pairs]
    while todo:
        a, b = todo.pop()
        if not (isinstance(a, OutL) and isinstance(b, OutL) and (a.site, a.param) == (b.site, b.param)):
            continue
        equated = same[a.label, b.label, a.site]
        equated.add(a.param)
        if equated == {name for name, _ in a.site.params} and (a.label, b.label) not in known:
            known.add((a.label, b.label))
            todo.append((a.label, b.label))
            yield a.label, b.label


def _place(own: Elem, t: Type, known: Mapping[Elem, Elem]) -> Elem | None:
    """What ``own``, a part of a place, is equated with; of a label perhaps its parameters, one by one."""
    if own in known:
        return known[own]
    if not isinstance(t, Label):
        return None
    made = (site for site in t.sites if t.only(site.name) or known.get(IsSite(own, site.name)) == TRUE)
    return None if (site := next(made, None)) is None else _label(own, site, known)


def _label(own: Elem, site: Site, known: Mapping[Elem, Elem]) -> InL | None:
    """The label of ``site`` that ``own`` is equated with."""
    found = [(p, _place(OutL(own, site, p), inner, known)) for p, inner in site.params]
    told = tuple((p, t) for p, t in found if t is not None)
    return InL(site.name, told) if len(told) == len(found) else None
