"""The normal form of flat terms: a sum of comprehensions over stored parts.

``⊎ᵢ wᵢ · (for x₁ in R₁, …, xₙ in Rₙ where c₁ and … union w(t₁) × … × sng(t))``. Every flat term (no ``sng_ι``, no
``flatten``: that is, every term that shredding makes) has one: the calculus is multilinear in its generators, which is
why deltas, degrees and join plans can all be read off it. Theory: for is associative, distributes over ⊎ and ⊖, let and
dictionaries are substituted. Labels are resolved statically: applying [(ι,Π) ↦ e] to ⟨ι,ε⟩ is e[ε]; applying a stored
dictionary is a join on its label.

One normal form. Every flat term is a sum of comprehensions over stored parts. Site choice, domains, statements and
plans are all read off it. A delta is derived by the paper's rules (``delta/rules.py``) and then normalised; nothing
else knows how to derive one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import islice
from typing import assert_never

from attrs import evolve, field, frozen

from ripplenest.nrc import interpret
from ripplenest.nrc.errors import QueryError, TooBig
from ripplenest.nrc.functions.dates import is_date
from ripplenest.nrc.functions.failures import UNKNOWN, Argument
from ripplenest.nrc.functions.natural import is_natural
from ripplenest.nrc.functions.scalars import can_fail, has_gaps, is_strict, never_fails
from ripplenest.nrc.limits import MAX_PRODUCTS
from ripplenest.nrc.rewriting.gaps import needed
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import (
    TRUE,
    UNIT_ELEM,
    Apply,
    At,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    Grouped,
    GroupRel,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Term,
    Top,
    Total,
    Tuple,
    Var,
    Weigh,
    dict_row,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Label, Type, may_be_null, nullable
from ripplenest.nrc.walk import Names, free_vars, nodes, read_by, rebuild_elem, replace_elem

CHAIN = 32  # summands that are added one by one


@frozen
class Comprehension:
    """weight · (for x₁ in R₁, … where conditions union w(t₁) × … × sng(head)); generators are stored parts, as bags.

    ``times``: t₁, …, which say how often a row is there. In a normal form the conditions say of each that it is not 0,
    so times are asked for when all conditions are true, like the head, and have a value then.
    """

    generators: tuple[tuple[str, Rel], ...]
    conditions: tuple[Elem, ...]
    head: Elem
    weight: int = 1
    times: tuple[Elem, ...] = ()

    def variables(self) -> dict[str, Type]:
        """Π of the head, the conditions and the times."""
        return {name: rel.row for name, rel in self.generators}


@frozen
class _Scope:
    """What variables stand for: for-variables elements, let-variables terms with the scope of their definition."""

    names: Names
    pi: Mapping[str, Elem] = field(factory=dict)
    gamma: Mapping[str, tuple[Expr, "_Scope"]] = field(factory=dict)

    def elem(self, t: Elem) -> Elem:
        return simplify_elem(replace_elem(t, self.pi))


def normal(e: Expr, free: Mapping[str, Type] | None = None) -> tuple[Comprehension, ...]:
    """The normal form of the flat term ``e``, whose free for-variables are ``free``.

    Law: ⟦e⟧ = ⊎ ⟦comprehensions⟧. Raises QueryError when ``e`` still has ``sng_ι`` or ``flatten``, TooBig when there
    are too many: a for over ⊎ doubles them.
    """
    found = list(islice(_normal(e, _Scope(Names(frozenset(free or {})))), MAX_PRODUCTS + 1))
    if len(found) > MAX_PRODUCTS:
        raise TooBig("the term has too many combinations of summands", wanted=f"at most {MAX_PRODUCTS}")
    return tuple(tidy for c in found if (tidy := _tidy(c, free or {})) is not None)


def term(comprehensions: tuple[Comprehension, ...], row: Type) -> Expr:
    """The comprehensions as a term again: nested ``for``s, predicates where their variables are bound first."""
    return _sum([_term(c) for c in comprehensions]) if comprehensions else Empty(row)


def _sum(summands: list[Expr]) -> Expr:
    """e₁ ⊎ … ⊎ eₙ, halved while there are many: passes recurse into both sides of ⊎."""
    if len(summands) > CHAIN:
        half = len(summands) // 2
        return Plus(_sum(summands[:half]), _sum(summands[half:]))
    return reduce(Plus, summands)


def _term(c: Comprehension) -> Expr:
    place = {var: i for i, (var, _) in enumerate(c.generators)}
    ready = [max((place.get(x, -1) for x in free_vars(cond)), default=-1) for cond in c.conditions]
    body: Expr = Sng(c.head)
    for t in reversed(c.times):
        body = For("_", Weigh(t), body)
    for i in reversed(range(-1, len(c.generators))):
        body = where([cond for cond, at in zip(c.conditions, ready, strict=True) if at == i], body)
        if i >= 0:
            body = For(*c.generators[i], body)
    total = body
    for _ in range(abs(c.weight) - 1):
        total = Plus(total, body)
    return Neg(total) if c.weight < 0 else total


def _normal(e: Expr, scope: _Scope, hint: str = "x") -> Iterator[Comprehension]:
    """``hint`` is the name that the user gave to the rows of ``e``."""
    match e:
        case Rel():
            var = scope.names.fresh(hint)
            yield Comprehension(((var, e),), (), Var(var))
        case LetVar(name):
            bound, outer = scope.gamma[name]
            yield from _normal(bound, outer, hint)
        case Let(name, bound, body):
            yield from _normal(body, evolve(scope, gamma={**scope.gamma, name: (bound, scope)}))
        case For(var, source, body):
            yield from _for(var, source, body, scope)
        case Pred(cond):
            yield Comprehension((), (scope.elem(cond),), UNIT_ELEM)
        case Weigh(count):
            yield Comprehension((), (), UNIT_ELEM, times=(scope.elem(count),))
        case Sng(elem):
            yield Comprehension((), (), scope.elem(elem))
        case Product(left, right):
            yield from _product(left, right, scope)
        case Plus(left, right):
            yield from _normal(left, scope, hint)
            yield from _normal(right, scope, hint)
        case Neg(of):
            yield from (evolve(c, weight=-c.weight) for c in _normal(of, scope, hint))
        case Empty():
            return
        case Apply(dictionary, label):
            yield from _apply(dictionary, scope.elem(label), scope, hint)
        case Group() | Top():
            raise QueryError("a group has no normal form: cut the term first", got=e.site)
        case SngBag() | Flatten():
            raise QueryError("only shredded terms have a normal form", got=type(e).__name__)
        case _:
            assert_never(e)


def _for(var: str, source: Expr, body: Expr, scope: _Scope) -> Iterator[Comprehension]:
    for outer in _normal(source, scope, "x" if var == "_" else var):
        inner_scope = evolve(scope, pi={**scope.pi, var: outer.head})
        for inner in _normal(body, inner_scope):
            yield _both(outer, inner, inner.head)


def _product(left: Expr, right: Expr, scope: _Scope) -> Iterator[Comprehension]:
    for a in _normal(left, scope):
        for b in _normal(right, scope):
            yield _both(a, b, Tuple((("_1", a.head), ("_2", b.head))))


def _both(a: Comprehension, b: Comprehension, head: Elem) -> Comprehension:
    conditions = a.conditions + b.conditions
    return Comprehension(a.generators + b.generators, conditions, head, a.weight * b.weight, a.times + b.times)


# ---------------------------------------------------------------- dictionaries


def definitions(d: DictExpr) -> dict[str, tuple[DictRel | DictLit, ...]]:
    """site ↦ the definitions whose sum d holds for labels of that site.

    d₁ ∪ d₂ takes one of two equal definitions, d₁ ⊎ d₂ both. Sites are unique, so equal sites mean equal definitions.
    """
    match d:
        case DictRel(name):
            return {name: (d,)}
        case DictLit(site):
            return {site.name: (d,)}
        case DictUnion(left, right):
            return {**definitions(right), **definitions(left)}
        case DictPlus(left, right):
            a, b = definitions(left), definitions(right)
            return {site: a.get(site, ()) + b.get(site, ()) for site in {**a, **b}}
        case DictEmpty():
            return {}
        case _:
            assert_never(d)


def _apply(d: DictExpr, label: Elem, scope: _Scope, hint: str) -> Iterator[Comprehension]:
    for parts in definitions(d).values():
        for part in parts:
            if isinstance(part, DictRel):
                yield _look_up(part, label, scope, hint)
            else:
                yield from _substitute(part, label, scope)


def _look_up(d: DictRel, label: Elem, scope: _Scope, hint: str) -> Comprehension:
    """R(l) = for ⟨l', x⟩ in R where l' = l union sng(x): labels of one site are equal when all parameters are."""
    var, site = scope.names.fresh(hint), d.site
    stored = Proj(Var(var), "label")
    pairs = ((OutL(stored, site, p), simplify_elem(OutL(label, site, p)), t) for p, t in site.params)
    here = simplify_elem(IsSite(label, site.name))
    rows = Rel(d.name, dict_row(d.row, d.name, d.params), d.at, d.order)
    if isinstance(d, GroupRel):
        rows = _placed(d, rows)
    equal = (t for a, b, kind in pairs for t in _equal(a, b, kind))
    return Comprehension(((var, rows),), (here, *equal), Proj(Var(var), "row"))


def _placed(d: GroupRel, rows: Rel) -> Rel:
    own = (d.name, rows.row, d.at, d.order)
    if d.nothing is None:
        return Grouped(*own, computed=d.computed)
    return Total(*own, computed=d.computed, nothing=d.nothing)


def _equal(a: Elem, b: Elem, t: Type) -> Iterator[Elem]:
    """a = b of what a label is made of, NULL being a value like others: of values one comparison, of labels one for
    each site and for each of its parameters."""
    match t:
        case Label(sites):
            for site in sites:
                if not t.only(site.name):
                    yield Call("same", (IsSite(a, site.name), simplify_elem(IsSite(b, site.name))))
                for p, kind in site.params:
                    other = simplify_elem(OutL(b, site, p))
                    yield from _equal(OutL(a, site, p), other, kind if t.only(site.name) else nullable(kind))
        case _:
            yield Call("same" if may_be_null(t) else "eq", (a, b))


def _substitute(d: DictLit, label: Elem, scope: _Scope) -> Iterator[Comprehension]:
    here = simplify_elem(IsSite(label, d.site.name))
    if isinstance(here, Lit) and here.value is not True:
        return
    for c in _normal(d.body, evolve(scope, pi={**scope.pi, d.var: label})):
        yield evolve(c, conditions=(here, *c.conditions))


def _tidy(c: Comprehension, free: Mapping[str, Type]) -> Comprehension | None:
    """Conjunctions split, repetitions, what is always true and what others imply dropped; None when not all conditions
    can be true. Times
    that are not constants are among the conditions: w(t) = for _ in p(t ≠ 0) union w(t)."""
    types = {**c.variables(), **free}
    times = tuple(t for t in c.times if not (isinstance(t, Lit) and t.value == 1))
    if any(isinstance(t, Lit) and not t.value for t in times):
        return None
    conditions: dict[Elem, None] = {}
    for cond in (*c.conditions, *(_not_0(t, types) for t in times if not isinstance(t, Lit))):
        conditions.update(dict.fromkeys(conjuncts(cond)))
    if any(is_never(t) or never_true(t, types) for t in conditions):
        return None
    asked = needed([t for t in conditions if t != TRUE and not _always_true(t, types)], lambda t: is_total(t, types))
    return None if asked is None else _read(evolve(c, conditions=tuple(asked), times=times))


def _read(c: Comprehension) -> Comprehension:
    """``c`` without totals of all rows of which nothing is read: there is one row of each."""
    read = read_by((c.head, *c.conditions, *c.times))
    own = [(x, rel) for x, rel in c.generators if x in read or not _is_one(rel)]
    return c if len(own) == len(c.generators) else evolve(c, generators=tuple(own))


def _is_one(rel: Rel) -> bool:
    return isinstance(rel, Total) and rel.at is not At.DELTA and not rel.place.params


def _not_0(t: Elem, types: Mapping[str, Type]) -> Elem:
    """t ≠ 0, which is not true where t is NULL."""
    kind = nullable(elem_type(t, types), False)
    assert isinstance(kind, Base)
    return Call("ne", (t, Lit(0, kind)))


def never_true(t: Elem, types: Mapping[str, Type]) -> bool:
    """Whether a question about a label is true of no row by its type: l ∈ ι for one that cannot have been made there,
    l is null for one that never is."""
    match t:
        case IsSite(label, site):
            found = elem_type(label, types)
            return isinstance(found, Label) and found.site(site) is None
        case Call("is_null", (label,)):
            return _is_null(label, types) is False
        case Call("not", (Call("is_null", (label,)),)):
            return _is_null(label, types) is True
    return False


def _always_true(t: Elem, types: Mapping[str, Type]) -> bool:
    """Whether it is true of every row by the type of the label: l ∈ ι for one that can have been made nowhere else."""
    match t:
        case IsSite(label, site):
            found = elem_type(label, types)
            return isinstance(found, Label) and found.only(site)
        case Call("is_null", (label,)):
            return _is_null(label, types) is True
        case Call("not", (Call("is_null", (label,)),)):
            return _is_null(label, types) is False
    return False


def _is_null(t: Elem, types: Mapping[str, Type]) -> bool | None:
    """Whether a label is NULL, as far as its type says: the one that was made nowhere is, and others may not be."""
    found = elem_type(t, types)
    if not isinstance(found, Label):
        return None
    return False if not found.nullable else None if found.sites else True


def failing(t: Elem, types: Mapping[str, Type]) -> Iterator[str]:
    """The functions in ``t``, whose variables have ``types``, that have no value for some rows."""
    calls = (node for node in nodes(t) if isinstance(node, Call))
    return (call.fn for call in calls if can_fail(call.fn, partial(_arguments, call, types)))


def _arguments(call: Call, types: Mapping[str, Type]) -> list[Argument]:
    return [_argument(a, types) for a in call.args]


def _argument(t: Elem, types: Mapping[str, Type]) -> Argument:
    found = elem_type(t, types)
    assert isinstance(found, Base)  # functions look at base values only
    return Argument(found, t.value if isinstance(t, Lit) else UNKNOWN, is_natural(t), is_date(t, types))


def is_total(t: Elem, types: Mapping[str, Type]) -> bool:
    """True when ``t`` has a value for every row."""
    return not any(failing(t, types))


def is_sure(term: Term) -> bool:
    """Whether nothing in it can fail, of whatever types its variables are; days as a long, which are an int, do not."""
    return all(never_fails(n.fn) or _is_of_days(n) for n in nodes(term) if isinstance(n, Call))


def is_partial(term: Term) -> bool:
    """Whether something in it has no value for some rows, and not because that would be too large."""
    return any(isinstance(n, Call) and has_gaps(n.fn) for n in nodes(term))


def _is_of_days(t: Call) -> bool:
    match t:
        case Call("to_long", (Call("days_between"),)):
            return True
    return False


def where(conditions: Sequence[Elem], body: Expr) -> Expr:
    """for _ in p(c₁) union … for _ in p(cₙ) union body"""
    for cond in reversed(conditions):
        body = For("_", Pred(cond), body)
    return body


def asked(e: Expr) -> tuple[list[Elem], Expr]:
    """The conditions with which ``e`` begins, and what is below them."""
    match e:
        case For(var, Pred(cond), body) if var not in free_vars(body):
            more, rest = asked(body)
            return [*conjuncts(cond), *more], rest
    return [], e


def folded(t: Elem) -> Elem:
    """``t`` with what no variable says, and cannot fail, as a constant."""
    t = rebuild_elem(t, folded)
    if not isinstance(t, Call) or not all(isinstance(a, Lit) for a in t.args) or not is_sure(t):
        return t
    own = elem_type(t, {})
    assert isinstance(own, Base)
    return Lit(interpret.elem(t, {}), own)


def decided(t: Elem) -> Elem:
    """``t`` without what is not asked for, by the constants in it: of another type, perhaps, as that of one choice."""
    t = rebuild_elem(t, decided)
    match t:
        case Call("if", (Lit(value), a, b)):
            return a if value is True else b
        case Call("coalesce", (Lit(value), a)):
            return a if value is None else t.args[0]
        case Call("and" | "or"):
            return simplify_elem(t)
    return folded(t) if isinstance(t, Call) and all(isinstance(a, Lit) for a in t.args) else t


def not_true(t: Elem) -> bool:
    """Whether ``t`` is false or NULL, whatever its variables are."""
    match folded(simplify_elem(t)):
        case Lit(value):
            return value is not True
        case Call("and", args):
            return any(map(not_true, args))
        case known:
            return _is_nothing(known)


def is_never(t: Elem) -> bool:
    """Whether a condition cannot fail and is true of no row, by what is a constant in it: x = NULL, 1 > 2."""
    return is_sure(t) and (_is_nothing(t) or (not free_vars(t) and not_true(t)))


def _is_nothing(t: Elem) -> bool:
    match t:
        case Lit(value):
            return value is None
        case Call(fn, args):
            return is_strict(fn) and any(map(_is_nothing, args))
    return False


def conjunction(conditions: Iterable[Elem]) -> Elem:
    """p₁ and … and pₙ, of at least one."""
    return reduce(lambda a, b: Call("and", (a, b)), conditions)


def conjuncts(t: Elem) -> Iterator[Elem]:
    """p₁, …, pₙ with ``t is true ⇔ every pᵢ is true``."""
    match t:
        case Call("and", args):
            for a in args:
                yield from conjuncts(a)
        case _:
            yield t
