"""Typing (nrc-ivm, figure 3 and the label rules of section 5.2): Γ; Π ⊢ e : Bag(B).

``check`` is run on what a surface builds and again on the output of every pass, so that a wrong pass is named.
"""

from collections.abc import Mapping
from functools import reduce
from typing import assert_never

from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.functions.folds import result_type as fold_type
from ripplenest.nrc.functions.scalars import result_type
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
    Sorting,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.types import (
    BOOL,
    UNIT,
    Bag,
    Base,
    Dict,
    Label,
    Record,
    Site,
    Type,
    is_flat,
    is_plain,
    join,
    nullable,
)
from ripplenest.nrc.values import INT_BITS

Context = Mapping[str, Type]


def elem_type(t: Elem, pi: Context) -> Type:
    """Π ⊢ t : A."""
    match t:
        case Var(name):
            return _lookup("variable", name, pi)
        case Proj(of, name):
            return _field(elem_type(of, pi), name)
        case Lit(value, base):
            return nullable(base, True) if value is None else base
        case Call(fn, args):
            types = [elem_type(a, pi) for a in args]
            if fn == "is_null" and isinstance(types[0], Bag | Label):
                return BOOL                         # what an inner bag is shredded to is NULL where the bag is
            return result_type(fn, [_base(found, fn) for found in types])
        case Tuple(fields):
            return Record(tuple((n, elem_type(a, pi)) for n, a in fields))
        case InL(site, args):                       # inL_{ι,Π}(ε) : 𝕃
            return Label((Site(site, tuple((n, _param(elem_type(a, pi))) for n, a in args)),))
        case OutL(label, site, param):
            kind = _label(elem_type(label, pi))
            found: Type = _lookup("parameter", param, dict(site.params))
            sure = kind.sites == (site,) and not kind.nullable
            return found if sure else nullable(found)
        case IsSite(label, _):
            _label(elem_type(label, pi))
            return Base("bool")
        case _:
            assert_never(t)


def expr_type(e: Expr, gamma: Context, pi: Context) -> Bag:
    """Γ; Π ⊢ e : Bag(B). Raises TypeMismatch or UnknownName."""
    match e:
        case Rel(_, row):                           # Sch(R) = B  ⟹  R : Bag(B)
            return Bag(row)
        case LetVar(name):                          # Γ, X : Bag(C); Π ⊢ X : Bag(C)
            return _bag(_lookup("let variable", name, gamma), "let variable")
        case Let(name, bound, body):                # let X := e₁ in e₂
            return expr_type(body, {**gamma, name: expr_type(bound, gamma, pi)}, pi)
        case For(var, source, body):                # for x in e₁ union e₂
            return expr_type(body, gamma, {**pi, var: expr_type(source, gamma, pi).row})
        case Pred(cond):                            # p(x) : Bag(1)
            if _base(elem_type(cond, pi), "a predicate").kind != "bool":
                raise TypeMismatch("a predicate must be a boolean", wanted="bool", got=elem_type(cond, pi))
            return Bag(UNIT)
        case Weigh(count):                          # w(t) : Bag(1)
            kind = _base(elem_type(count, pi), "a weight").kind
            if kind not in INT_BITS:
                wanted = " or ".join(INT_BITS)
                raise TypeMismatch("a weight must be an integer", wanted=wanted, got=elem_type(count, pi))
            return Bag(UNIT)
        case Sng(elem):                             # sng(x) : Bag(A)
            return Bag(elem_type(elem, pi))
        case SngBag(site, body, order):             # sng(e) : Bag(Bag(B))
            rows = expr_type(body, gamma, pi)
            check_sorted(order, rows.row, site)
            return Bag(rows)
        case Flatten(of):                           # e : Bag(Bag(B))  ⟹  flatten(e) : Bag(B)
            return Bag(_bag(expr_type(of, gamma, pi).row, "flatten").row)
        case Product(left, right):                  # e₁ × e₂ : Bag(B₁ × B₂)
            return Bag(Record((("_1", expr_type(left, gamma, pi).row), ("_2", expr_type(right, gamma, pi).row))))
        case Plus(left, right):                     # e₁ ⊎ e₂ : Bag(B)
            return _joined(expr_type(left, gamma, pi), expr_type(right, gamma, pi), "⊎")
        case Neg(of):
            return expr_type(of, gamma, pi)
        case Empty(row):
            return Bag(row)
        case Apply(dictionary, label):
            _label(elem_type(label, pi))
            return Bag(dict_type(dictionary, gamma, pi).row)
        case Group(_, var, of, keys, folds):        # e : Bag(A), x:A ⊢ kᵢ, f  ⟹  γ(x ∈ e; k; f) : Bag(⟨kᵢ, f⟩)
            inner = {**pi, var: expr_type(of, gamma, pi).row}
            return Bag(_group_row(keys, folds, inner))
        case Top(site, var, of, order, limit):      # e : Bag(A), x:A ⊢ oᵢ  ⟹  τ(n; x ∈ e; o) : Bag(A)
            rows = expr_type(of, gamma, pi)
            _check_top(site, rows.row, limit)
            for o in order:
                _base(elem_type(o.by, {**pi, var: rows.row}), "an order of rows")
            return rows
        case _:
            assert_never(e)


def dict_type(d: DictExpr, gamma: Context, pi: Context) -> Dict:
    """Γ; Π ⊢ d : 𝕃 ↦ Bag(B)."""
    match d:
        case DictRel(_, row) | DictEmpty(row):
            return Dict(row)
        case DictLit(site, var, body):              # [(ι,Π) ↦ e] : 𝕃 ↦ Bag(B)
            return Dict(expr_type(body, gamma, {**pi, var: Label((site,))}).row)
        case DictPlus(left, right) | DictUnion(left, right):
            a, b = dict_type(left, gamma, pi), dict_type(right, gamma, pi)
            both = join(a, b)
            if not isinstance(both, Dict):
                raise TypeMismatch("dictionaries of different rows", wanted=a, got=b)
            return both
        case _:
            assert_never(d)


def check_sorted(order: tuple[Sorting, ...], row: Type, where: str) -> None:
    """Rows are shown sorted by base values that they hold. Raises UnknownName, TypeMismatch."""
    for by in order:
        found = reduce(_field, by.path, row)
        if not isinstance(found, Base):
            raise TypeMismatch("rows are sorted by base values", where=where, wanted="a base value", got=found)


def _check_top(site: str, row: Type, limit: int) -> None:
    if not is_plain(row):
        what = "rows are ordered by all that they hold, and bags have no order"
        raise TypeMismatch(what, where=site, wanted="rows without bags", got=row)
    if limit < 1:
        raise TypeMismatch("how many rows are wanted is above 0", where=site, wanted="1 or more", got=limit)


def _group_row(keys: tuple[tuple[str, Elem], ...] | None, folds: tuple[Fold, ...], pi: Context) -> Record:
    """⟨k…, f…⟩"""
    found = [(name, _key(name, elem_type(t, pi))) for name, t in keys or ()]
    found += [(f.name, _fold(f, pi)) for f in folds]
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise TypeMismatch("two columns of a group have one name", got=names)
    if keys == () or not (keys or folds):
        raise TypeMismatch("a group has a key, or folds", possible=["a fold of all rows, which has no keys"])
    return Record(tuple(found))


def _fold(f: Fold, pi: Context) -> Base:
    t = fold_type(f.fn, [_base(elem_type(a, pi), f.fn) for a in f.args])
    if t != f.type:
        raise TypeMismatch("a fold with an answer of another type than it says", where=f.name, wanted=t, got=f.type)
    return t


def _key(name: str, t: Type) -> Type:
    if not is_flat(t):
        raise TypeMismatch("rows are told apart by what holds no bag", where=name, wanted="a key without bags", got=t)
    return t


def check(e: Expr, gamma: Context | None = None, pi: Context | None = None) -> Bag:
    """The type of a term without free variables other than those given."""
    return expr_type(e, gamma or {}, pi or {})


def _lookup(what: str, name: str, names: Context) -> Type:
    if name not in names:
        raise UnknownName(f"there is no {what} {name!r}", got=name, possible=sorted(names))
    return names[name]


def _field(t: Type, name: str) -> Type:
    if not isinstance(t, Record):
        raise TypeMismatch(f"only records have fields, and this is none: .{name}", wanted="a record", got=t)
    found = t.get(name)
    if found is None:
        raise UnknownName(f"there is no field {name!r}", got=name, possible=t.there.names)
    return found


def _base(t: Type, what: str) -> Base:
    if isinstance(t, Base):
        return t
    hint = "; predicates and functions look at base values only" if isinstance(t, Bag) else ""
    raise TypeMismatch(f"{what} needs a base value{hint}", wanted="a base value", got=t)


def _param(t: Type) -> Type:
    if isinstance(t, Base | Label):
        return t
    raise TypeMismatch("a label's parameters are base values or labels", wanted="Base or 𝕃", got=t)


def _label(t: Type) -> Label:
    if isinstance(t, Label):
        return t
    raise TypeMismatch("a dictionary is applied to a label", wanted="𝕃", got=t)


def _bag(t: Type, what: str) -> Bag:
    if isinstance(t, Bag):
        return t
    raise TypeMismatch(f"{what} needs a bag", wanted="Bag(…)", got=t)


def _joined(a: Bag, b: Bag, what: str) -> Bag:
    both: Type | None = join(a, b)
    if not isinstance(both, Bag):
        raise TypeMismatch(f"the two sides of {what} must have the same rows", wanted=a, got=b)
    return both
