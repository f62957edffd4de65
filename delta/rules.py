"""The delta rules (nrc-ivm, figure 4 and section 5.2).

Law (proposition 4.1, theorem 5): ``h[R ⊎ ΔR] = h[R] ⊎ δ(h)[R, ΔR]``. The engine adds the right-hand side to what it
stored instead of evaluating the left. One rule serves both forms of the product rule: with ``e⁺ = e ⊎ δ(e)`` it is
the paper's three terms, over the old state only; with ``e⁺`` reading the state after the batch it is the telescoped
form, which needs no cross terms and takes any number of changed parts at once.

Telescoping and turns. ``δ(e₁ × e₂) = δ(e₁) × e₂ ⊎ e₁⁺ × δ(e₂)``. With e⁺ = e ⊎ δ(e) this is the paper's rule with
three terms; with e⁺ read after the batch it has no cross terms, and serves self joins and several changed parts
alike. The parts of a batch take turns by name; a statement reads those before its own after the batch, those behind
it before.
"""

from collections.abc import Callable
from typing import TypeVar, assert_never

from attrs import evolve, field, frozen

from ripplenest.delta.degree import deg, deg_dict
from ripplenest.nrc.errors import LawBroken, QueryError
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.printing.pretty import show, show_dict
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import (
    Apply,
    At,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    Let,
    LetVar,
    Neg,
    Placed,
    Plus,
    Pred,
    Product,
    Rel,
    Sng,
    SngBag,
    Top,
    Weigh,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import Label, Type
from ripplenest.nrc.walk import rebuild, rebuild_dict, unique_binders, unique_dict_binders

Changed = frozenset[str]
T = TypeVar("T", Expr, DictExpr)


@frozen
class Scope:
    """What changes (``parts``, and let-variables by name) and the types of the free variables."""

    parts: Changed
    telescoped: bool
    lets: frozenset[str] = frozenset()
    gamma: dict[str, Type] = field(factory=dict)
    pi: dict[str, Type] = field(factory=dict)

    def with_let(self, name: str, t: Type) -> "Scope":
        gamma = {**self.gamma, name: t, delta_name(name): t, new_name(name): t}
        return Scope(self.parts, self.telescoped, self.lets | {name}, gamma, self.pi)

    def changes(self, name: str, at: At) -> bool:
        """True for a stored part that changes. An update is given: it is the same before and after."""
        return name in self.parts and at is not At.DELTA

    def with_var(self, name: str, t: Type) -> "Scope":
        return Scope(self.parts, self.telescoped, self.lets, self.gamma, {**self.pi, name: t})


def delta_name(x: str) -> str:
    return At.DELTA.show(x)


def new_name(x: str) -> str:
    return At.NEW.show(x)


def delta(e: Expr, parts: Changed, telescoped: bool = False) -> Expr:
    """δ(e) for changes of the stored ``parts`` (flat bags and dictionaries by name), simplified.

    Reads R and ΔR, and R⁺ when ``telescoped``. Raises QueryError on ``sng_ι(e)`` that depends on a changed part: its
    change is a deep one, so it is shredded first. Raises LawBroken when the degree does not fall by one (theorem
    2), TooDeep or TooBig when the delta is beyond the limits.
    """
    return simplify(derived(e, parts, telescoped))


def derived(e: Expr, parts: Changed, telescoped: bool = False) -> Expr:
    """δ(e) as the rules make it, with all that is ∅ in it. Raises as ``delta`` does."""
    # δ(let …) puts e₁ where X is bound, and binds ΔX, which a delta of an earlier order may have bound already.
    change = _delta(unique_binders(e, plain=True), Scope(parts, telescoped))
    _check(show, deg, e, change, parts)
    return change


def _delta(e: Expr, s: Scope) -> Expr:
    match e:
        case Rel(name, row, at):                    # δ(R) = δ(R⁺) = ΔR          δ(S) = δ(ΔR) = ∅
            return _change(e) if s.changes(name, at) else Empty(row)
        case LetVar(name):                          # δ(X) = ΔX, or ∅ when X does not change
            return LetVar(delta_name(name)) if name in s.lets else _nothing(e, s)
        case Let(name, bound, body):                # let X := e₁, ΔX := δ(e₁) in δ_{R,X}(e₂)
            inner, change = s.with_let(name, expr_type(bound, s.gamma, s.pi)), _delta(bound, s)
            changed = Let(new_name(name), _after(bound, change, s), _delta(body, inner))
            return Let(name, bound, Let(delta_name(name), change, changed))
        case For(var, source, body):                # for x in δ(e₁) union e₂ ⊎ for x in e₁⁺ union δ(e₂)
            inner, change = s.with_var(var, expr_type(source, s.gamma, s.pi).row), _delta(source, s)
            return Plus(For(var, change, body), For(var, _after(source, change, s), _delta(body, inner)))
        case Pred() | Weigh() | Sng() | Empty():    # δ(p) = δ(w) = δ(sng(x)) = δ(inL_ι) = δ(∅) = ∅
            return _nothing(e, s)
        case SngBag(site, body):                    # δ(sng*(e)) = ∅, e input-independent
            if not isinstance(simplify(_delta(body, s), s.gamma, s.pi), Empty):
                raise QueryError(f"the change of the inner bag {site} is a deep one: shred the term first")
            return _nothing(e, s)
        case Group(site, _, of) | Top(site, _, of):  # δ(γ(e)) = δ(τ(e)) = ∅, e input-independent
            if not isinstance(simplify(_delta(of, s), s.gamma, s.pi), Empty):
                raise QueryError(f"the change of the group {site} is not that of its rows: cut the term first")
            return _nothing(e, s)
        case Flatten(of):                           # δ(flatten(e)) = flatten(δ(e))
            return Flatten(_delta(of, s))
        case Product(left, right):                  # δ(e₁) × e₂ ⊎ e₁⁺ × δ(e₂)
            change = _delta(left, s)
            return Plus(Product(change, right), Product(_after(left, change, s), _delta(right, s)))
        case Plus(left, right):                     # δ(e₁ ⊎ e₂) = δ(e₁) ⊎ δ(e₂)
            return Plus(_delta(left, s), _delta(right, s))
        case Neg(of):                               # δ(⊖e) = ⊖δ(e)
            return Neg(_delta(of, s))
        case Apply(dictionary, label):              # δ(d(l)) = δ(d)(l)
            return Apply(_delta_dict(dictionary, s), label)
        case _:
            assert_never(e)


def _change(r: Rel) -> Rel:
    """ΔR; Δα is finite, whatever α answers of nothing."""
    if isinstance(r, Placed):
        return Placed(r.name, r.row, At.DELTA, computed=r.computed)
    return Rel(r.name, r.row, At.DELTA)


def delta_dict(d: DictExpr, s: Scope) -> DictExpr:
    """δ(d) for a dictionary. Raises as ``delta`` does."""
    change = _delta_dict(unique_dict_binders(d, plain=True), s)
    _check(show_dict, deg_dict, d, change, s.parts)
    return change


def _check(text: Callable[[T], str], degree: Callable[[T, Changed], int], h: T, change: T, parts: Changed) -> None:
    """The limits, first: what follows walks the term; and deg(δ(h)) = deg(h) - 1, or 0 where h does not change."""
    check_limits(change, "delta")
    before, after = degree(h, parts), degree(change, parts)
    if after != max(before - 1, 0):
        what = f"theorem 2 does not hold for the delta of {text(h)}"
        raise LawBroken(what, wanted=f"deg(δ(h)) = {max(before - 1, 0)}", got=after)


def _delta_dict(d: DictExpr, s: Scope) -> DictExpr:
    match d:
        case DictRel(name, row, at, _, params):     # δ(R^Γ) = ΔR^Γ
            return DictRel(name, row, At.DELTA, params=params) if s.changes(name, at) else DictEmpty(row)
        case DictLit(site, var, body):              # δ([l ↦ e]) = [l ↦ δ(e)]
            return DictLit(site, var, _delta(body, s.with_var(var, Label((site,)))))
        case DictPlus(left, right):                 # δ(d₁ ⊎ d₂) = δ(d₁) ⊎ δ(d₂)
            return DictPlus(_delta_dict(left, s), _delta_dict(right, s))
        case DictUnion(left, right):                # δ(d₁ ∪ d₂) = δ(d₁) ∪ δ(d₂)
            return DictUnion(_delta_dict(left, s), _delta_dict(right, s))
        case DictEmpty():
            return d
        case _:
            assert_never(d)


def _after(e: Expr, change: Expr, s: Scope) -> Expr:
    """e⁺: what ``e`` is after its ``change``, which is shared: deriving it again would take exponential time."""
    return at_new(e, s.parts, s.lets) if s.telescoped else Plus(e, change)


def rel_at_new(r: Rel, parts: Changed) -> Rel:
    """R ⟶ R⁺ for ``parts``; updates and what is read after the batch already stay."""
    return evolve(r, at=At.NEW) if r.name in parts and r.at is At.OLD else r


def at_new(e: Expr, parts: Changed, lets: frozenset[str] = frozenset()) -> Expr:
    """``e`` reading the state after the batch for ``parts``: R ⟶ R⁺."""

    def dictionary(d: DictExpr) -> DictExpr:
        if isinstance(d, DictRel) and d.name in parts and d.at is At.OLD:
            return evolve(d, at=At.NEW)
        return rebuild_dict(d, again, dictionary)

    def again(c: Expr) -> Expr:
        return at_new(c, parts, lets)

    match e:
        case Rel():
            return rel_at_new(e, parts)
        case LetVar(name) if name in lets:
            return LetVar(new_name(name))
        case Let(name, bound, body):
            return Let(name, again(bound), at_new(body, parts, lets - {name}))
        case _:
            return rebuild(e, again, lambda t: t, dictionary)


def _nothing(e: Expr, s: Scope) -> Expr:
    return Empty(expr_type(e, s.gamma, s.pi).row)
