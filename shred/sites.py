"""How the dictionary of a site is kept: key-bound, or with an explicit domain (the paper's "domain maintenance").

*Key-bound*: every parameter is equated with a column in every product of e, a label perhaps by what it is made of, as
the rows of a group are, which are asked for by the label of its key. The dictionary IS then a flat relation keyed by
those columns, needs no domain, and entries for labels that nobody holds are harmless. *Domain*: otherwise
``Dom_ι`` holds the labels in use, and the dictionary is ``Dom_ι ⋈ e``. Both choices give the same view (a law). A
parameter that is NULL equals no column, so a key-bound column is required to be not NULL.

Entries that are many are not harmless: rows of several sources which the parameters alone join would be pairs, each
with each, whose label nobody holds (``asked_apart``). So would rows that are joined by what many of both have, where no
row of one source says all parameters (``paired``, of whoever knows what is unique). Such a site has a domain.

Dictionaries that can fail have a domain. A key-bound table also evaluates rows whose label nobody holds. Where a
definition divides, casts or overflows, that would refuse a batch over a row that is in no view, so such a site is
kept with a domain, also when its labels have no parameters. A domain counts the labels in all rows of a dictionary,
so what holds such labels needs a domain as well, and so on outwards (``must_be_held`` in ``shred/sites.py``). A batch
is refused exactly where the view has no value afterwards; triggers also ask about rows that go, and where these fail
"auto" recomputes.

The sum of products of a definition is asked for several times, and can be long: it is made once, by ``defined``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from attrs import evolve, frozen

from ripplenest.nrc.functions.scalars import has_gaps
from ripplenest.nrc.rewriting.normal import Comprehension, failing, normal
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, DictLit, Elem, InL, IsSite, OutL, Proj, Rel, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Label, Site, Type, may_be_null
from ripplenest.nrc.walk import Names, rebuild_elem
from ripplenest.shred.always import evaluated, without
from ripplenest.shred.bound import bindings
from ripplenest.shred.domains import asked_apart, domain_row, label_leaves


@frozen
class Definition:
    """The dictionary ``d`` that a site defines, and its body as a sum of products."""

    d: DictLit
    products: tuple[Comprehension, ...]

    @property
    def site(self) -> Site:
        return self.d.site


Paired = Callable[[Comprehension, Iterable[Elem], frozenset[str]], list[str]]


def unpaired(*_: object) -> list[str]:
    """None, where nobody knows what is unique."""
    return []


def defined(d: DictLit) -> Definition:
    """``d`` with its normal form."""
    return Definition(d, normal(d.body, {d.var: Label((d.site,))}))


@frozen
class KeptDictionary:
    """The comprehensions that make rows ⟨label, row⟩ of a dictionary, whether they read a domain, and why; and whether
    the dictionary is ``partial``, with no value for some labels."""

    products: tuple[Comprehension, ...]
    domain: bool
    why: str
    partial: bool = False


def keep(
    definition: Definition,
    domain_name: str,
    force_domain: bool = False,
    held_only: str | None = None,
    groups: frozenset[str] | None = None,
    paired: Paired = unpaired,
) -> KeptDictionary:
    """The materialisation of a dictionary; ``domain_name`` is what its domain is called if it needs one.

    ``held_only``: why it must have one, if it must (``must_be_held``). ``groups``: in views with groups, those that
    have no domain themselves, whose rows are there for whoever reads them; <=> says what a parameter is there, as =
    does, and NULL is a value: places can be NULL. ``paired``: of which sources a product has rows for a place that come
    together there and belong to nobody who asks.
    """
    d, products = definition.d, definition.products
    bound = [bindings(c, d, groups) for c in products]
    loose = sorted({p for p, _ in d.site.params if any(p not in b for b in bound)})
    if loose:
        held_only = held_only or f"not equated with a column in every product: {', '.join(loose)}"
    if force_domain and d.site.params:
        held_only = "a domain was asked for"
    entries = () if held_only else tuple(_key_bound(c, d, b) for c, b in zip(products, bound, strict=True))
    entered = [(c, b.values()) for c, b in zip(entries, bound, strict=False)]
    if found := next((v for c, place in entered if len(v := asked_apart(c, place)) > 1), None):
        held_only = f"rows of {' and '.join(found)} are joined by the label alone, and would be pairs"
    elif found := next((v for c, place in entered if (v := paired(c, place, groups or frozenset()))), None):
        held_only = f"rows of {' and '.join(found)} would be pairs, most of which nobody asks for"
    if held_only is not None:
        return KeptDictionary(tuple(_with_domain(c, d, domain_name) for c in products), True, held_only)
    names = ", ".join(p for p, _ in d.site.params)
    why = f"every product equates {names} with a column" if names else "the label has no parameters"
    return KeptDictionary(entries, False, why)


def must_be_held(
    sites: Sequence[Definition], always: frozenset[str] = frozenset(), partial: frozenset[str] = frozenset()
) -> dict[str, str]:
    """site ↦ why its definition must be evaluated for labels in use only: it can fail, or one that its bags hold can,
    or a ``partial`` one that it reads. Not so where it is ``always`` in use, and what is evaluated there anyway fails
    nowhere else.

    Law: with domains for these, a definition that can fail is evaluated for the labels that rows of the view hold, at
    every depth, and for no others.
    """
    found: dict[str, str] = {}
    fails = _failing(sites, always)
    for site in (s.site.name for s in sites if s.site.name in fails.keys() | partial):
        why = f"it can fail: {', '.join(fails[site])}" if site in fails else "what it reads can fail"
        found[site] = f"it must not be evaluated for labels that nobody holds, because {why}"
    held = {s.site.name: _labels_held(s) for s in sites}
    while more := {name: held[name] & found.keys() for name in held.keys() - found.keys() if held[name] & found.keys()}:
        for name in sorted(more):
            inner = ", ".join(sorted(more[name]))
            found[name] = f"its rows hold labels whose bags must not be evaluated when nobody holds them: {inner}"
    return found


def partial_sites(
    sites: Sequence[Definition], always: frozenset[str], reads: Mapping[str, Set[str]]
) -> frozenset[str]:
    """Those sites that have no value for some labels, and not because numbers grow too large: they compute what has
    none, or one that they ``read`` does, as ``sum(sum(10 // i.f | i in o.items) | o in c.orders)`` reads an inner sum.

    What is evaluated anyway, and for what is ``always`` in use, does not count (``must_be_held``).
    """
    found = {site for site, names in _failing(sites, always).items() if any(map(has_gaps, names))}
    while more := {s for s, read in reads.items() if s not in always and read & found} - found:
        found |= more
    return frozenset(found)


def _failing(sites: Sequence[Definition], always: frozenset[str]) -> dict[str, list[str]]:
    """By site the functions in its definition that have no value for some rows, if there are any."""
    found: dict[str, list[str]] = {}
    anyway = evaluated(sites, always)
    for s in (s for s in sites if s.site.name not in always):
        every = ((t, c) for c in s.products for t in (c.head, *c.conditions, *c.times))
        terms = (without(t, c, _types(c, s.d), anyway) for t, c in every)
        if names := sorted({fn for t, types in terms for fn in failing(t, types)}):
            found[s.site.name] = names
    return found


def _labels_held(s: Definition) -> frozenset[str]:
    """The sites of the labels that rows of the bags of a site hold."""
    rows = ((c.head, elem_type(c.head, _types(c, s.d))) for c in s.products)
    labels = (label for row, kind in rows for _, label in label_leaves(row, kind))
    return frozenset(site.name for label in labels for site in label.sites)


def _types(c: Comprehension, d: DictLit) -> dict[str, Type]:
    return {**c.variables(), d.var: Label((d.site,))}


def _parameter(t: Elem, d: DictLit) -> str | None:
    match t:
        case OutL(Var(name), _, param) if name == d.var:
            return param
    return None


def _key_bound(c: Comprehension, d: DictLit, columns: Mapping[str, Elem]) -> Comprehension:
    types = c.variables()
    conditions: list[Elem] = []
    for cond in (_read(t, d, columns) for t in c.conditions):
        match cond:
            case Call("eq", (a, b)) if a == b:  # x = x is "x is not NULL"
                if may_be_null(elem_type(a, types)):
                    conditions.append(Call("not", (Call("is_null", (a,)),)))
            case Call("same", (a, b)) if a == b:
                continue
            case IsSite(a, site) if isinstance(made := elem_type(a, types), Label) and made.only(site):
                continue
            case _:
                conditions.append(cond)
    label = InL(d.site.name, tuple((p, columns[p]) for p, _ in d.site.params))
    head, times = _entry(label, _read(c.head, d, columns)), tuple(_read(t, d, columns) for t in c.times)
    return evolve(c, conditions=tuple(conditions), head=head, times=times)


def _with_domain(c: Comprehension, d: DictLit, domain_name: str) -> Comprehension:
    """Dom_ι ⋈ e: the parameters are read from the domain's row."""
    var = Names(frozenset(c.variables())).fresh("l")
    row = domain_row(d.site)
    columns = {p: Proj(Var(var), p) for p, _ in d.site.params}
    label = InL(d.site.name, tuple(columns.items()))
    return evolve(
        c,
        generators=((var, Rel(domain_name, row)), *c.generators),
        conditions=tuple(_read(t, d, columns) for t in c.conditions),
        head=_entry(label, _read(c.head, d, columns)),
        times=tuple(_read(t, d, columns) for t in c.times),
    )


def _entry(label: Elem, row: Elem) -> Elem:
    return Tuple((("label", label), ("row", row)))


def _read(t: Elem, d: DictLit, columns: Mapping[str, Elem]) -> Elem:
    """``t`` with the parameters of the dictionary replaced by ``columns``."""
    name = _parameter(t, d)
    if name is not None:
        return columns[name]
    return simplify_elem(rebuild_elem(t, lambda a: _read(a, d, columns)))
