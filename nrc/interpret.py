"""The reference interpreter (nrc-ivm, figure 3): what every engine must agree with.

Plain Python over bags as maps value → multiplicity, small enough to be believed by reading. A database maps the keys
of parts (``M``, ``ΔM``, ``M⁺``) to a BagValue, or for a dictionary to a map LabelValue → BagValue.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import assert_never

from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue, Value, checked, field_of
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions import folds, scalars
from ripplenest.nrc.functions.ordering import Direction, first
from ripplenest.nrc.syntax import (
    Apply,
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
    Fold,
    For,
    Group,
    GroupRel,
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

Dictionary = Mapping[LabelValue, BagValue]
Database = Mapping[str, "BagValue | Dictionary"]
Env = Mapping[str, Value]
Bags = Mapping[str, BagValue]

TRUTH = BagValue({(): 1})


def elem(t: Elem, pi: Env) -> Value:
    """⟦t⟧_ε: the value of an element."""
    match t:
        case Var(name):
            return pi[name]
        case Proj(of, name):
            return field_of(elem(of, pi), name)
        case Lit(value, _):
            return value
        case Call(fn, args):
            return scalars.evaluate(fn, [partial(elem, a, pi) for a in args])
        case Tuple(fields):
            return tuple((n, elem(a, pi)) for n, a in fields)
        case InL(site, args):
            return LabelValue(site, tuple(elem(a, pi) for _, a in args))
        case OutL(label, site, param):
            value = elem(label, pi)
            position = [n for n, _ in site.params].index(param)
            return value.args[position] if isinstance(value, LabelValue) and value.site == site.name else None
        case IsSite(label, site):
            value = elem(label, pi)
            return isinstance(value, LabelValue) and value.site == site
        case _:
            assert_never(t)


def evaluate(e: Expr, db: Database, gamma: Bags | None = None, pi: Env | None = None) -> BagValue:
    """⟦e⟧_{γ;ε} over the database ``db``."""
    return _bag(e, db, gamma or {}, pi or {})


def _bag(e: Expr, db: Database, gamma: Bags, pi: Env) -> BagValue:
    match e:
        case Rel():                                 # ⟦R⟧ = R
            return _part(db[e.key])
        case LetVar(name):                          # ⟦X⟧ = γ(X)
            return gamma[name]
        case Let(name, bound, body):                # ⟦let X := e₁ in e₂⟧ = ⟦e₂⟧_{γ[X := ⟦e₁⟧]}
            return _bag(body, db, {**gamma, name: _bag(bound, db, gamma, pi)}, pi)
        case For(var, source, body):                # ⊎_{v ∈ ⟦e₁⟧} ⟦e₂⟧_{ε[x := v]}
            return BagValue.weighted(_for(var, _bag(source, db, gamma, pi), body, db, gamma, pi))
        case Pred(cond):                            # if p(ε(x)) then {⟨⟩} else {}
            return TRUTH if elem(cond, pi) is True else EMPTY
        case Weigh(count):                          # {⟨⟩ ↦ ⟦t⟧}, and NULL is 0
            return BagValue.weighted([((), n)] if isinstance(n := elem(count, pi), int) else [])
        case Sng(t):                                # {ε(x)}
            return BagValue({elem(t, pi): 1})
        case SngBag(_, body):                       # {⟦e⟧}
            return BagValue({_bag(body, db, gamma, pi): 1})
        case Flatten(of):                           # ⊎_{v ∈ ⟦e⟧} v
            return BagValue.weighted(_flatten(_bag(of, db, gamma, pi)))
        case Product(left, right):                  # ⊎ ⊎ {⟨v₁, v₂⟩}
            return BagValue.weighted(_product(_bag(left, db, gamma, pi), _bag(right, db, gamma, pi)))
        case Plus(left, right):                     # ⟦e₁⟧ ⊎ ⟦e₂⟧
            return _bag(left, db, gamma, pi) + _bag(right, db, gamma, pi)
        case Neg(of):                               # ⊖⟦e⟧
            return -_bag(of, db, gamma, pi)
        case Empty():                               # {}
            return EMPTY
        case Apply(dictionary, label):              # ⟦d⟧(l), {} outside the support
            return look_up(dictionary, elem(label, pi), db, gamma, pi) or EMPTY
        case Top():                                 # the first n of ⟦e⟧ by o, and then by all that they hold
            return _first(e, _bag(e.of, db, gamma, pi), pi)
        case Group():                               # one row ⟨k, f⟩ for each k among the k(v), v ∈ ⟦e⟧
            return _grouped(e, _bag(e.of, db, gamma, pi), pi)
        case _:
            assert_never(e)


def look_up(d: DictExpr, label: Value, db: Database, gamma: Bags, pi: Env) -> BagValue | None:
    """⟦d⟧(l), or None when l is not in supp(d): an undefined label and an empty bag are two things."""
    if not isinstance(label, LabelValue):
        return None
    match d:
        case DictRel():
            part = db[d.key]
            found = part.get(label) if isinstance(part, Mapping) else None
            if found is None and isinstance(d, GroupRel) and d.nothing is not None and label.site == d.name:
                return BagValue({elem(d.nothing, {}): 1})
            return found
        case DictLit(site, var, body):              # [(ι,Π) ↦ e]⟨ι',ε'⟩ = if ι = ι' then ρ_ε'(e) else {}
            return _bag(body, db, gamma, {**pi, var: label}) if label.site == site.name else None
        case DictPlus(left, right):                 # (d₁ ⊎ d₂)(l) = d₁(l) ⊎ d₂(l)
            a, b = look_up(left, label, db, gamma, pi), look_up(right, label, db, gamma, pi)
            return a + b if a is not None and b is not None else a if b is None else b
        case DictUnion(left, right):                # (d₁ ∪ d₂)(l): what both define must agree
            a, b = look_up(left, label, db, gamma, pi), look_up(right, label, db, gamma, pi)
            if a is not None and b is not None and a != b:
                raise EvaluationError("label union of dictionaries that disagree", where=str(label), wanted=a, got=b)
            return b if a is None else a
        case DictEmpty():
            return None
        case _:
            assert_never(d)


def _part(value: "BagValue | Dictionary") -> BagValue:
    """A stored part as a bag; a dictionary as its rows ⟨label, row⟩."""
    if isinstance(value, BagValue):
        return value
    return BagValue.weighted(
        ((("label", label), ("row", row)), n) for label, bag in value.items() for row, n in bag
    )


def _grouped(g: Group, rows: BagValue, pi: Env) -> BagValue:
    """⟦γ_α(x ∈ e; k; f)⟧, and ⟦φ_α(x ∈ e; f)⟧: one row, whatever e is. Raises EvaluationError for a row that is there
    less than 0 times."""
    groups: dict[tuple[tuple[str, Value], ...], list[tuple[Env, int]]] = {} if g.keys else {(): []}
    for value, n in _there(rows, g.site):
        inner = {**pi, g.var: value}
        groups.setdefault(tuple((name, elem(k, inner)) for name, k in g.keys or ()), []).append((inner, n))
    found = ((*key, *(_folded(f, members) for f in g.folds)) for key, members in groups.items())
    return BagValue(dict.fromkeys(found, 1))


def _there(rows: BagValue, site: str) -> Iterator[tuple[Value, int]]:
    for value, n in rows:
        if n < 0:
            raise EvaluationError("a group of a row that is there less than 0 times", where=site, got=n)
        yield value, n


def _first(t: Top, rows: BagValue, pi: Env) -> BagValue:
    """⟦τ_α(n; x ∈ e; o)⟧. Raises EvaluationError for a row that is there less than 0 times."""
    there = list(_there(rows, t.site))
    by = [[elem(o.by, {**pi, t.var: value}) for o in t.order] for value, _ in there]
    directions = [Direction(o.descending, o.nulls_first) for o in t.order]
    return BagValue(first(there, by, directions, t.limit))


def _folded(f: Fold, members: Sequence[tuple[Env, int]]) -> tuple[str, Value]:
    return f.name, folds.answer(f.fn, [(tuple(elem(a, pi) for a in f.args), n) for pi, n in members], f.type)


def _for(var: str, source: BagValue, body: Expr, db: Database, gamma: Bags, pi: Env) -> Iterator[tuple[Value, int]]:
    for value, n in source:
        for row, m in _bag(body, db, gamma, {**pi, var: value}):
            yield row, checked(n * m)


def _flatten(bags: BagValue) -> Iterator[tuple[Value, int]]:
    for bag, n in bags:
        if isinstance(bag, BagValue):  # a NULL bag has no rows
            for row, m in bag:
                yield row, checked(n * m)


def _product(left: BagValue, right: BagValue) -> Iterator[tuple[Value, int]]:
    for a, n in left:
        for b, m in right:
            yield (("_1", a), ("_2", b)), checked(n * m)
