"""The cost interpretation C[[e]] : ℕ⁺{B°} of terms e : Bag(B) (nrc-ivm, figure 5 and section 5.2).

C[[e]] = C_o · {C_i} bounds the cardinality of the result and what each of its elements costs, given the sizes of the
stored parts; each ``⊎`` may add a factor of 2, because the paper charges the larger summand only.

Law (theorems 4 and 5): ``C[[δ(h)]] < C[[h]]``, so ``tcost(C[[δ(h)]]) < tcost(C[[h]])``, when h depends on what changes
and every change is incremental, size(ΔR) < size(R). Without more, only ≤ holds. The strict law needs two readings:
lemma 1 is applied in all of δ(h), also to ``let ΔX := ∅`` and ``[l ↦ ∅](l')``, because ∅ costs 1 like {⟨⟩}, so that a
``for x in ∅ union R`` left in δ(for x in X union R) costs what h does when X costs 1 (normal forms have none left); and
R⁺ in a telescoped delta costs what ``R ⊎ ΔR`` does by figure 5, not what it will hold, which can be twice as much.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar, assert_never

from attrs import evolve, field, frozen

from ripplenest.cost.domains import ONE, BagCost, Cost, RecordCost, bag_size, bottom, largest_bag, record_cost, sup
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.interpret import Database, Dictionary
from ripplenest.nrc.syntax import (
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
    InL,
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
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.types import UNIT, Bag, Type

Sizes = Mapping[str, BagCost]
T = TypeVar("T")


@frozen
class _Env:
    """The sizes of stored parts, γ° and ε°."""

    sizes: Sizes
    gamma: Mapping[str, BagCost] = field(factory=dict)
    pi: Mapping[str, Cost] = field(factory=dict)

    def with_let(self, name: str, c: BagCost) -> "_Env":
        return evolve(self, gamma={**self.gamma, name: c})

    def with_var(self, name: str, c: Cost) -> "_Env":
        return evolve(self, pi={**self.pi, name: c})


def cost(
    e: Expr, sizes: Sizes, gamma: Mapping[str, BagCost] | None = None, pi: Mapping[str, Cost] | None = None
) -> BagCost:
    """C[[e]]_{γ°;ε°} for a well-typed term.

    ``sizes`` maps the keys of parts (``M``, ``ΔM``, ``M⁺``) to their sizes; ``lookup_key`` says where the dictionaries'
    are. A missing R⁺ costs what R ⊎ ΔR does, and ΔʹR always what ΔR does.
    Raises UnknownName on a part or variable without a cost.
    Law (lemma 10): monotone in ``sizes``, ``gamma`` and ``pi``.
    """
    return _bag(e, _Env(sizes, gamma or {}, pi or {}))


def dict_cost(
    d: DictExpr, sizes: Sizes, gamma: Mapping[str, BagCost] | None = None, pi: Mapping[str, Cost] | None = None
) -> BagCost:
    """C[[d(l)]]_{γ°;ε°}: what one definition costs, the same for every label l."""
    return _definition(d, _Env(sizes, gamma or {}, pi or {}))


def lookup_key(key: str) -> str:
    """Where sizes keep C[[R^Γ(l)]] of a stored dictionary; ``key`` itself is its size as one bag of ⟨label, row⟩."""
    return f"{key}(l)"


def _bag(e: Expr, env: _Env) -> BagCost:
    match e:
        case Rel(name, _, at):                      # C[[R]] = size(R)
            return _stored(name, at, env)
        case LetVar(name):                          # C[[X]] = γ°(X)
            return _lookup("let variable", name, env.gamma)
        case Let(name, bound, body):                # C[[let X := e₁ in e₂]] = C[[e₂]]_{γ°[X := C[[e₁]]]}
            return _bag(body, env.with_let(name, _bag(bound, env)))
        case For(var, source, body):                # C_o[[e₁]] · C_o[[e₂]] · {C_i[[e₂]]} with ε°[x := C_i[[e₁]]]
            outer = _bag(source, env)
            inner = _bag(body, env.with_var(var, outer.inner))
            return BagCost(outer.count * inner.count, inner.inner)
        case Pred() | Weigh():                      # C[[p(x)]] = C[[w(t)]] = 1_Bag(1)
            return bottom(Bag(UNIT))
        case Sng(t):                                # C[[sng(x)]] = {ε°(x)}         C[[inL_ι(ε)]] = {1}
            return BagCost(1, _elem(t, env))
        case SngBag(_, body):                       # C[[sng*(e)]] = {C[[e]]}
            return BagCost(1, _bag(body, env))
        case Flatten(of):                           # C_o[[e]] · C_oi[[e]] · {C_ii[[e]]}
            bags = _bag(of, env)
            each = _inner_bag(bags.inner)
            return BagCost(bags.count * each.count, each.inner)
        case Product(left, right):                  # C_o[[e₁]] · C_o[[e₂]] · {⟨C_i[[e₁]], C_i[[e₂]]⟩}
            a, b = _bag(left, env), _bag(right, env)
            return BagCost(a.count * b.count, RecordCost((("_1", a.inner), ("_2", b.inner))))
        case Plus(left, right):                     # C[[e₁ ⊎ e₂]] = sup(C[[e₁]], C[[e₂]])
            return sup(_bag(left, env), _bag(right, env))
        case Neg(of):                               # C[[⊖e]] = C[[e]]
            return _bag(of, env)
        case Group(_, var, of, keys):               # C[[γ(x ∈ e; k; f)]] = C_o[[e]]{⟨C[[k]], 1, …⟩}
            rows = _bag(of, env)
            around = env.with_var(var, rows.inner)
            columns = (*((n, _elem(k, around)) for n, k in keys or ()), *((f.name, ONE) for f in e.folds))
            return BagCost(rows.count, record_cost(columns))
        case Top(_, _, of):                         # C[[τ(n; x ∈ e; o)]] = C[[e]]
            return _bag(of, env)
        case Empty(row):                            # C[[∅]] = 1_Bag(B)
            return bottom(Bag(row))
        case Apply(dictionary, _):                  # C[[d(l)]], the same for every l
            return _definition(dictionary, env)
        case _:
            assert_never(e)


def _definition(d: DictExpr, env: _Env) -> BagCost:
    match d:
        case DictRel(name, _, at):                  # C[[R^Γ(l)]] = sup_{l ∈ supp(R^Γ)} size(R^Γ(l))
            return _stored(name, at, env, lookup_key)
        case DictLit(_, var, body):                 # C[[[l ↦ e](l')]] = C[[e]], and 𝕃° = 1°
            return _bag(body, env.with_var(var, ONE))
        case DictPlus(left, right):                 # (d₁ ⊎ d₂)(l) = d₁(l) ⊎ d₂(l)
            return sup(_definition(left, env), _definition(right, env))
        case DictUnion(left, right):                # C[[(d₁ ∪ d₂)(l)]] = sup(C[[d₁(l)]], C[[d₂(l)]])
            return sup(_definition(left, env), _definition(right, env))
        case DictEmpty(row):                        # [](l) = ∅
            return bottom(Bag(row))
        case _:
            assert_never(d)


def _elem(t: Elem, env: _Env) -> Cost:
    match t:
        case Var(name):                             # ε°(x)
            return _lookup("variable", name, env.pi)
        case Proj(of, name):                        # π_i(ε°(x))
            record = _elem(of, env)
            if not isinstance(record, RecordCost):
                raise TypeMismatch(f"only records have fields, and this is none: .{name}", wanted="⟨…⟩", got=record)
            return record.get(name)
        case Tuple(fields):
            return record_cost(tuple((n, _elem(a, env)) for n, a in fields))
        case Lit() | Call() | InL() | OutL() | IsSite():  # base values and labels: 1°
            return ONE
        case _:
            assert_never(t)


# ---------------------------------------------------------------- sizes of stored parts


def sizes_of(db: Database, rows: Mapping[str, Type]) -> dict[str, BagCost]:
    """The sizes of all parts of a database of values: of ``M``, ``ΔM`` and ``M⁺`` by their keys.

    ``rows`` maps each part (``M``) to its row type, of a dictionary to the type of what its labels stand for; without
    it an empty bag has no cost. A dictionary has two sizes: as the bag of its rows ⟨label, row⟩ under its key, and as
    what one label stands for under ``lookup_key``. Raises UnknownName on a part without a row type.
    """
    types = {at.show(name): row for name, row in rows.items() for at in At}
    sizes: dict[str, BagCost] = {}
    for key, part in db.items():
        row = _lookup("row type of a part", key, types)
        if isinstance(part, BagValue):
            sizes[key] = bag_size(part, row)
        else:
            sizes[key], sizes[lookup_key(key)] = _dictionary_sizes(part, row)
    return sizes


def _dictionary_sizes(d: Dictionary, row: Type) -> tuple[BagCost, BagCost]:
    one = largest_bag(d.values(), row)
    total = sum(abs(n) for bag in d.values() for _, n in bag)
    return BagCost(max(total, 1), RecordCost((("label", ONE), ("row", one.inner)))), one


def _stored(name: str, at: At, env: _Env, key_of: Callable[[str], str] = str) -> BagCost:
    key = key_of(at.show(name))
    if at is At.NEW and key not in env.sizes:       # R⁺ = R ⊎ ΔR
        return sup(_stored(name, At.OLD, env, key_of), _stored(name, At.DELTA, env, key_of))
    return _lookup("size of the part", key, env.sizes)


def _lookup(what: str, name: str, known: Mapping[str, T]) -> T:
    if name not in known:
        raise UnknownName(f"there is no {what} {name!r}", got=name, possible=sorted(known))
    return known[name]


def _inner_bag(c: Cost) -> BagCost:
    if not isinstance(c, BagCost):
        raise TypeMismatch("flatten needs a bag of bags", wanted="n{m{…}}", got=c)
    return c
