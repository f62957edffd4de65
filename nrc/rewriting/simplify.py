"""Equivalences of the calculus as a table; each row keeps meaning and type, and is tested alone.

Deltas triple what they derive from, so every pass simplifies as it goes. Rows never copy a ``sng_ι``: ι stays unique.
Binders are named apart first, and no row copies a binder, so substitution is capture-free.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from attrs import frozen

from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.syntax import (
    UNIT_ELEM,
    Apply,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictUnion,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    InL,
    IsSite,
    Let,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Sng,
    SngBag,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import BOOL, UNIT, Label, Type
from ripplenest.nrc.walk import (
    free_lets,
    rebuild,
    rebuild_dict,
    rebuild_elem,
    replace,
    replace_let,
    unique_binders,
    unique_dict_binders,
)

Context = Mapping[str, Type]


class HasRow(Protocol):
    """The type of a bag, as far as rules ask for it."""

    @property
    def row(self) -> Type: ...


Rule = Callable[[Expr, HasRow], Expr | None]


def for_empty(e: Expr, t: HasRow) -> Expr | None:
    """for x in ∅ union e = ∅        for x in e union ∅ = ∅"""
    match e:
        case For(_, Empty(), _) | For(_, _, Empty()):
            return Empty(t.row)
    return None


def for_sng(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """for x in sng(t) union e = e[x := t]"""
    match e:
        case For(var, Sng(elem), body):
            return replace(body, {var: elem})
    return None


def for_eta(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """for x in e union sng(x) = e"""
    match e:
        case For(var, source, Sng(Var(name))) if name == var:
            return source
    return None


def for_for(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """for x in (for y in a union b) union c = for y in a union for x in b union c"""
    match e:
        case For(x, For(y, a, b), c):
            return For(y, a, For(x, b, c))
    return None


def flatten_sng(e: Expr, t: HasRow) -> Expr | None:
    """flatten(sng_ι(e)) = e        flatten(∅) = ∅        flatten(for x in a union b) = for x in a union flatten(b)"""
    match e:
        case Flatten(SngBag(_, body)):
            return body
        case Flatten(Empty()):
            return Empty(t.row)
        case Flatten(For(x, a, b)):
            return For(x, a, Flatten(b))
    return None


def plus_empty(e: Expr, t: HasRow) -> Expr | None:
    """e ⊎ ∅ = e        ∅ ⊎ e = e"""
    match e:
        case Plus(Empty(), other) | Plus(other, Empty()):
            # ∅ may be what makes a field nullable: its own type then differs from the sum's.
            return other if not isinstance(other, Empty) else Empty(t.row)
    return None


def neg_neg(e: Expr, t: HasRow) -> Expr | None:
    """⊖⊖e = e        ⊖∅ = ∅"""
    match e:
        case Neg(Neg(inner)):
            return inner
        case Neg(Empty()):
            return Empty(t.row)
    return None


def product_empty(e: Expr, t: HasRow) -> Expr | None:
    """∅ × e = ∅        e × ∅ = ∅"""
    match e:
        case Product(Empty(), _) | Product(_, Empty()):
            return Empty(t.row)
    return None


def pred_constant(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """p = sng(⟨⟩) when p is the constant true; p = ∅ when it is false or NULL"""
    match e:
        case Pred(Lit(value, _)):
            return Sng(UNIT_ELEM) if value is True else Empty(UNIT)
    return None


def weigh_constant(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """w(1) = sng(⟨⟩)        w(0) = w(NULL) = ∅"""
    match e:
        case Weigh(Lit(1, _)):
            return Sng(UNIT_ELEM)
        case Weigh(Lit(0 | None, _)):
            return Empty(UNIT)
    return None


def top_empty(e: Expr, t: HasRow) -> Expr | None:
    """τ(n; x ∈ ∅; o) = ∅"""
    match e:
        case Top(_, _, Empty()):
            return Empty(t.row)
    return None


def let_unused(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """let X := e₁ in e₂ = e₂ when X is not free in e₂"""
    match e:
        case Let(name, _, body) if name not in free_lets(body):
            return body
    return None


def let_empty(e: Expr, t: HasRow) -> Expr | None:  # noqa: ARG001
    """let X := ∅ in e = e[X := ∅]"""
    match e:
        case Let(name, Empty() as bound, body):
            return replace_let(body, name, bound)
    return None


def apply_empty(e: Expr, t: HasRow) -> Expr | None:
    """d(l) = ∅ when d is made of [(ι,Π) ↦ ∅] and [] by ∪ and ⊎"""
    match e:
        case Apply(dictionary, _) if _holds_nothing(dictionary):
            return Empty(t.row)
    return None


def _holds_nothing(d: DictExpr) -> bool:
    match d:
        case DictLit(_, _, Empty()) | DictEmpty():
            return True
        case DictPlus(left, right) | DictUnion(left, right):
            return _holds_nothing(left) and _holds_nothing(right)
        case _:
            return False


def apply_lit(e: Expr, t: HasRow) -> Expr | None:
    """[(ι,Π) ↦ e](inL_ι(ε)) = e[ε]        [(ι,Π) ↦ e](inL_κ(ε)) = ∅"""
    match e:
        case Apply(DictLit(site, var, body), InL(name, _) as label) if site.name == name:
            return elem_pass(replace(body, {var: label}))
        case Apply(DictLit(), InL()):
            return Empty(t.row)
    return None


# By the construct at the root, which each row matches: most nodes have a root of none.
BY_ROOT: Mapping[type[Expr], tuple[Rule, ...]] = {
    For: (for_empty, for_sng, for_eta, for_for),
    Flatten: (flatten_sng,),
    Plus: (plus_empty,),
    Neg: (neg_neg,),
    Product: (product_empty,),
    Pred: (pred_constant,),
    Weigh: (weigh_constant,),
    Top: (top_empty,),
    Let: (let_unused, let_empty),
    Apply: (apply_empty, apply_lit),
}
RULES: tuple[Rule, ...] = tuple(rule for rules in BY_ROOT.values() for rule in rules)


def simplify_elem(t: Elem) -> Elem:
    """⟨f: t⟩.f = t        outL_ι(inL_ι(ε)).p = ε.p        (inL_ι(ε) ∈ κ) = (ι = κ)        constants of and, or, not

    not (t < u) = (t ≥ u), and so with ≤, > and ≥: all are NULL for the same values.
    not (t ∧ u) = not t ∨ not u, and so with ∨.
    """
    t = rebuild_elem(t, simplify_elem)
    match t:
        case Proj(Tuple() as record, name):
            return record.get(name) or t
        case OutL(InL(made, args), site, param) if made == site.name:
            return dict(args)[param]
        case IsSite(InL(made, _), site):
            return Lit(made == site, BOOL)
        case Call("and", args):
            return _connective(t, args, absorbing=False)
        case Call("or", args):
            return _connective(t, args, absorbing=True)
        case Call("not", (Call("not", (arg,)),)):
            return arg
        case Call("not", (Call(fn, args),)) if fn in SWAPPED:
            return Call(OPPOSITE[fn], args)
        case Call("not", (Call("and" | "or" as fn, args),)):
            return simplify_elem(Call("or" if fn == "and" else "and", tuple(Call("not", (a,)) for a in args)))
        case _:
            return t


def simplify(e: Expr, gamma: Context | None = None, pi: Context | None = None) -> Expr:
    """Apply every row of RULES until none applies, children first. Law: same meaning, same type."""
    return _simplify(unique_binders(e), gamma or {}, pi or {})


@frozen
class _TypeOf:
    """The type of a term, worked out when a rule that fits asks for it: few do, and it takes a walk of the term."""

    e: Expr
    gamma: Context
    pi: Context

    @property
    def row(self) -> Type:
        return expr_type(self.e, self.gamma, self.pi).row


def _simplify(e: Expr, gamma: Context, pi: Context) -> Expr:
    e = _children(e, gamma, pi)
    t = _TypeOf(e, gamma, pi)
    for rule in BY_ROOT.get(type(e), ()):
        simpler = rule(e, t)
        if simpler is not None:
            return _simplify(simpler, gamma, pi)
    return e


def _children(e: Expr, gamma: Context, pi: Context) -> Expr:
    match e:
        case For(var, source, body):
            source = _simplify(source, gamma, pi)
            return For(var, source, _simplify(body, gamma, {**pi, var: expr_type(source, gamma, pi).row}))
        case Let(name, bound, body):
            bound = _simplify(bound, gamma, pi)
            return Let(name, bound, _simplify(body, {**gamma, name: expr_type(bound, gamma, pi)}, pi))
        case _:
            return rebuild(
                e, lambda c: _simplify(c, gamma, pi), simplify_elem, lambda d: _simplify_dict(d, gamma, pi)
            )


def simplify_dict(d: DictExpr, gamma: Context | None = None, pi: Context | None = None) -> DictExpr:
    """[] ∪ d = d,   [] ⊎ d = d, and the rows of RULES inside each definition."""
    return _simplify_dict(unique_dict_binders(d), gamma or {}, pi or {})


def _simplify_dict(d: DictExpr, gamma: Context, pi: Context) -> DictExpr:
    if isinstance(d, DictLit):
        return DictLit(d.site, d.var, _simplify(d.body, gamma, {**pi, d.var: Label((d.site,))}))
    d = rebuild_dict(d, lambda c: c, lambda c: _simplify_dict(c, gamma, pi))
    match d:
        case DictPlus(DictEmpty(), other) | DictPlus(other, DictEmpty()):
            return other
        case DictUnion(DictEmpty(), other) | DictUnion(other, DictEmpty()):
            return other
        case _:
            return d


def elem_pass(e: Expr) -> Expr:
    """``simplify_elem`` on every element of ``e``."""
    return rebuild(e, elem_pass, simplify_elem, lambda d: rebuild_dict(d, elem_pass, lambda c: c))


def _connective(t: Call, args: tuple[Elem, ...], absorbing: bool) -> Elem:
    """true and p = p, false or p = p, false and p = false, true or p = true. p must not raise, so only a first
    constant absorbs: scalars are evaluated from left to right."""
    left, right = args
    if isinstance(left, Lit) and left.value is absorbing:
        return left
    if isinstance(left, Lit) and left.value is (not absorbing):
        return right
    if isinstance(right, Lit) and right.value is (not absorbing):
        return left
    return t
