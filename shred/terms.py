"""sh^F and sh^Γ: a nested query becomes flat queries and dictionaries (nrc-ivm, figure 6).

Theory of operation. ``Bag(C)`` is replaced by a label, and what a label stands for is kept apart. Only ``sng_ι(e)``
makes labels: ⟨ι, the values of the free variables that e^F really uses⟩, so a label is a function of data and a
retried task makes the same one. Only ``flatten`` looks labels up. The figure binds contexts by ``let x^Γ := …``;
dictionaries are closed (their parameters capture all free variables, and the lets they use are put inside), so here
x^Γ is kept in the environment and substituted. When you touch this: the dictionary of a site must stay closed, and ι
unique.
"""

from typing import assert_never

from attrs import evolve, field, frozen

from ripplenest.nrc.syntax import (
    Apply,
    Call,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    InL,
    IsSite,
    Keys,
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
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import Names, free_vars, unique_binders
from ripplenest.shred.close import close
from ripplenest.shred.contexts import (
    BagContext,
    Context,
    NoContext,
    RecordContext,
    empty_context,
    empty_row,
    flat_type,
    stored_context,
    union,
)
from ripplenest.shred.places import Place


@frozen
class Shredded:
    """⟨h^F, h^Γ⟩: the flat term and the tree of dictionaries of its labels."""

    flat: Expr
    context: Context


@frozen
class _LetBound:
    flat: Expr
    context: Context


@frozen
class _Env:
    """x ↦ x^Γ and the type of x^F; X ↦ X^F, X^Γ and its type; the keys of stored rows."""

    keys: Keys = ()
    pi: dict[str, tuple[Type, Context]] = field(factory=dict)
    gamma: dict[str, tuple[Type, _LetBound]] = field(factory=dict)

    @property
    def pi_types(self) -> dict[str, Type]:
        return {x: t for x, (t, _) in self.pi.items()}

    @property
    def gamma_types(self) -> dict[str, Type]:
        return {x: t for x, (t, _) in self.gamma.items()}


def shred(e: Expr, keys: Keys = ()) -> Shredded:
    """⟨sh^F(e), sh^Γ(e)⟩ for a closed term over relations whose labels are made of ``keys``.

    Law (theorem 8): nesting the shredded result gives ⟦e⟧. The flat term has no ``sng_ι`` and no ``flatten``.
    """
    return _shred(unique_binders(e), _Env(keys))


def _shred(e: Expr, env: _Env) -> Shredded:
    match e:
        case Rel(name, row, at):                    # sh^F(R) = R^F                     sh^Γ(R) = R^Γ
            rows = Place.of(name, row, env.keys)
            return Shredded(Rel(name, flat_type(row, rows), at), stored_context(row, rows))
        case LetVar(name):                          # sh^F(X) = X^F                     sh^Γ(X) = X^Γ
            return Shredded(e, env.gamma[name][1].context)
        case Let(name, bound, body):                # let X^F := e₁^F, X^Γ := e₁^Γ in …
            one = _shred(bound, env)
            bag = expr_type(one.flat, env.gamma_types, env.pi_types)
            two = _shred(body, evolve(env, gamma={**env.gamma, name: (bag, _LetBound(one.flat, one.context))}))
            return Shredded(Let(name, one.flat, two.flat), two.context)
        case For(var, source, body):                # let x^Γ := e₁^Γ in for x^F in e₁^F union e₂^F
            one = _shred(source, env)
            row = expr_type(one.flat, env.gamma_types, env.pi_types).row
            two = _shred(body, evolve(env, pi={**env.pi, var: (row, one.context)}))
            return Shredded(For(var, one.flat, two.flat), two.context)
        case Pred() | Weigh():                      # sh^F(p(x)) = p(x)                 sh^Γ = ⟨⟩
            return Shredded(e, RecordContext(()))
        case Sng(elem):                             # sh^F(sng(x)) = sng(x^F)           sh^Γ(sng(x)) = x^Γ
            return Shredded(e, _elem_context(elem, env))
        case SngBag(site, body):                    # inL_{ι,Π}(ε)                      ⟨[(ι,Π) ↦ e^F], e^Γ⟩
            inner = _shred(body, env)
            lets = {name: bound.flat for name, (_, bound) in env.gamma.items()}
            label, dictionary = close(site, inner.flat, env.pi_types, lets)
            return Shredded(Sng(label), BagContext(dictionary, inner.context))
        case Flatten(of):                           # for l in e^F union e^Γ₁(l)        e^Γ₂
            inner = _shred(of, env)
            assert isinstance(inner.context, BagContext)
            var = Names(free_vars(inner.flat)).fresh("l")
            return Shredded(For(var, inner.flat, Apply(inner.context.dictionary, Var(var))), inner.context.rows)
        case Product(left, right):                  # e₁^F × e₂^F                       ⟨e₁^Γ, e₂^Γ⟩
            a, b = _shred(left, env), _shred(right, env)
            return Shredded(Product(a.flat, b.flat), RecordContext((("_1", a.context), ("_2", b.context))))
        case Plus(left, right):                     # e₁^F ⊎ e₂^F                       e₁^Γ ∪ e₂^Γ
            a, b = _shred(left, env), _shred(right, env)
            return Shredded(Plus(a.flat, b.flat), union(a.context, b.context))
        case Neg(of):                               # ⊖(e^F)                            e^Γ
            inner = _shred(of, env)
            return Shredded(Neg(inner.flat), inner.context)
        case Empty(row):                            # ∅                                 ∅_{B^Γ}
            return Shredded(Empty(empty_row(row)), empty_context(row))
        case Group(_, var, of, keys):               # γ(x^F ∈ e^F; k^F; f)              ⟨k^Γ, ⟨⟩⟩
            one = _shred(of, env)
            row = expr_type(one.flat, env.gamma_types, env.pi_types).row
            around = evolve(env, pi={**env.pi, var: (row, one.context)})
            contexts = [(name, _elem_context(k, around)) for name, k in keys or ()]
            answers = [(f.name, NoContext()) for f in e.folds]
            return Shredded(evolve(e, of=one.flat), RecordContext((*contexts, *answers)))
        case Top(_, _, of):                         # τ(n; x^F ∈ e^F; o)                e^Γ
            one = _shred(of, env)
            return Shredded(evolve(e, of=one.flat), one.context)
        case Apply():
            raise AssertionError("a term is shredded once: dictionary applications come from shredding")
        case _:
            assert_never(e)


def _elem_context(t: Elem, env: _Env) -> Context:
    """x^Γ, (x.f)^Γ = x^Γ.f, ⟨f: t⟩^Γ = ⟨f: t^Γ⟩; base values have none."""
    match t:
        case Var(name):
            return env.pi[name][1]
        case Proj(of, name):
            context = _elem_context(of, env)
            return context.get(name) if isinstance(context, RecordContext) else NoContext()
        case Tuple(fields):
            return RecordContext(tuple((n, _elem_context(a, env)) for n, a in fields))
        case Lit() | Call() | InL() | OutL() | IsSite():
            return NoContext()
        case _:
            assert_never(t)
