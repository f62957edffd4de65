"""How the dictionary of a site is kept: key-bound, or with an explicit domain (the paper's "domain maintenance").

*Key-bound*: every parameter is equated with a column in every product of e. The dictionary IS then a flat relation
keyed by those columns, needs no domain, and entries for labels that nobody holds are harmless. *Domain*: otherwise
``Dom_ι`` holds the labels in use, and the dictionary is ``Dom_ι ⋈ e``. Both choices give the same view (a law). A
parameter that is NULL equals no column, so a key-bound column is required to be not NULL.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from ripplenest.nrc.normal import Comprehension, normal
from ripplenest.nrc.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, DictLit, Elem, InL, IsSite, OutL, Proj, Rel, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import INT, Base, Label, Record, Site, Type, may_be_null, nullable
from ripplenest.nrc.walk import Names, free_vars, nodes, rebuild_elem

PARTIAL = frozenset({"div_double", "mod_int", "mod_long", "to_int", "to_long", "to_date"})


@frozen
class Kept:
    """The comprehensions that make rows ⟨label, row⟩ of a dictionary, whether they read a domain, and why."""

    products: tuple[Comprehension, ...]
    domain: bool
    why: str


def keep(d: DictLit, domain_name: str, force_domain: bool = False) -> Kept:
    """The materialisation of the dictionary ``d``; ``domain_name`` is what its domain is called if it needs one."""
    products = normal(d.body, {d.var: Label((d.site,))})
    bound = [_bindings(c, d) for c in products]
    loose = sorted({p for p, _ in d.site.params if any(p not in b for b in bound)})
    if force_domain and d.site.params:
        return Kept(tuple(_with_domain(c, d, domain_name) for c in products), True, "a domain was asked for")
    failing = sorted({name for c in products for name in _failing(c, d)})
    if failing and d.site.params:
        why = f"it must not be evaluated for labels that nobody holds, because it can fail: {', '.join(failing)}"
        return Kept(tuple(_with_domain(c, d, domain_name) for c in products), True, why)
    if loose:
        why = f"not equated with a column in every product: {', '.join(loose)}"
        return Kept(tuple(_with_domain(c, d, domain_name) for c in products), True, why)
    names = ", ".join(p for p, _ in d.site.params)
    why = f"every product equates {names} with a column" if names else "the label has no parameters"
    return Kept(tuple(_key_bound(c, d, b) for c, b in zip(products, bound, strict=True)), False, why)


def _failing(c: Comprehension, d: DictLit) -> Iterator[str]:
    """The functions of a product that have no value for some rows; of overflow only that of casts is thought of."""
    types = {**c.variables(), d.var: Label((d.site,))}
    for t in (c.head, *c.conditions):
        for node in nodes(t):
            match node:
                case Call("to_long", (a,)) if nullable(elem_type(a, types)) == nullable(INT):
                    continue
                case Call(fn) if fn in PARTIAL:
                    yield fn


def _bindings(c: Comprehension, d: DictLit) -> dict[str, Elem]:
    """parameter ↦ the column that the product equates it with."""
    found: dict[str, Elem] = {}
    types = c.variables()
    for left, right in _equations(c):
        name = _parameter(left, d)
        if name is not None and name not in found and d.var not in free_vars(right):
            wanted = dict(d.site.params)[name]
            if _same_kind(wanted, elem_type(right, types)):
                found[name] = right
    return found


def _equations(c: Comprehension) -> Iterator[tuple[Elem, Elem]]:
    for cond in c.conditions:
        match cond:
            case Call("eq", (OutL(a, site, "id"), OutL(b, other, "id"))) if site == other:
                yield a, b  # labels of one stored dictionary are equal when their ids are
                yield b, a
            case Call("eq", (a, b)):
                yield a, b
                yield b, a


def _parameter(t: Elem, d: DictLit) -> str | None:
    match t:
        case OutL(Var(name), _, param) if name == d.var:
            return param
    return None


def _same_kind(wanted: Type, got: Type) -> bool:
    """True when a column of type ``got`` can stand for the parameter: same base kind, or the same one site."""
    match wanted, got:
        case Base(), Base():
            return nullable(wanted) == nullable(got)
        case Label(sites), Label(others):
            return len(sites) == 1 and sites == others
        case _:
            return False


def _key_bound(c: Comprehension, d: DictLit, columns: Mapping[str, Elem]) -> Comprehension:
    types = c.variables()
    conditions: list[Elem] = []
    for cond in (_read(t, d, columns) for t in c.conditions):
        match cond:
            case Call("eq", (a, b)) if a == b:  # x = x is "x is not NULL"
                if may_be_null(elem_type(a, types)):
                    conditions.append(Call("not", (Call("is_null", (a,)),)))
            case IsSite(a, site) if isinstance(made := elem_type(a, types), Label) and made.only(site):
                continue
            case _:
                conditions.append(cond)
    label = InL(d.site.name, tuple((p, columns[p]) for p, _ in d.site.params))
    return evolve(c, conditions=tuple(conditions), head=_entry(label, _read(c.head, d, columns)))


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
    )


def _entry(label: Elem, row: Elem) -> Elem:
    return Tuple((("label", label), ("row", row)))


def _read(t: Elem, d: DictLit, columns: Mapping[str, Elem]) -> Elem:
    """``t`` with the parameters of the dictionary replaced by ``columns``."""
    name = _parameter(t, d)
    if name is not None:
        return columns[name]
    return simplify_elem(rebuild_elem(t, lambda a: _read(a, d, columns)))


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

    Weights are taken positive: inputs have no negative rows, so the count of a label is then above 0 wherever some row
    can hold it, even where a view's ⊎ and ⊖ cancel. A label too many is harmless; one too few is a wrong answer.
    """
    for label, kind in label_leaves(row, row_type):
        if kind.site(site.name) is None:
            continue
        head = Tuple(tuple((p, simplify_elem(OutL(label, site, p))) for p, _ in site.params))
        if isinstance(label, InL):
            if label.site == site.name:
                yield evolve(c, head=head, weight=abs(c.weight))
        else:
            yield evolve(c, conditions=(*c.conditions, IsSite(label, site.name)), head=head, weight=abs(c.weight))
