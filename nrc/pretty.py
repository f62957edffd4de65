"""Terms as text, in the notation of the paper: ``for m in M where m.gen = "Drama" union sng(⟨name: m.name⟩)``."""

import json
from typing import assert_never

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
    For,
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
    Tuple,
    Var,
)

INFIX = {
    "eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "same": "<=>", "and": "and", "or": "or",
    "add": "+", "sub": "-", "mul": "·", "div": "/", "mod": "mod",
}  # fmt: skip


def show_elem(t: Elem) -> str:
    """An element on one line."""
    match t:
        case Var(name):
            return name
        case Proj(of, name):
            return f"{show_elem(of)}.{name}"
        case Lit(value, _):
            return _literal(value)
        case Call(fn, args):
            return _call(fn, tuple(show_elem(a) for a in args))
        case Tuple(fields):
            return "⟨" + ", ".join(f"{n}: {show_elem(a)}" for n, a in fields) + "⟩"
        case InL(site, args):
            return f"inL[{site}]({', '.join(show_elem(a) for _, a in args)})"
        case OutL(label, _, param):
            return f"{show_elem(label)}⟨{param}⟩"
        case IsSite(label, site):
            return f"({show_elem(label)} in [{site}])"
        case _:
            assert_never(t)


def show(e: Expr) -> str:
    """A term on one line."""
    match e:
        case Rel(name, _, at):
            return at.show(name)
        case LetVar(name):
            return name
        case Let(name, bound, body):
            return f"let {name} := {show(bound)} in {show(body)}"
        case For(var, source, body):
            return _for(var, source, body)
        case Pred(cond):
            return f"p({show_elem(cond)})"
        case Sng(InL() as label):
            return show_elem(label)
        case Sng(elem):
            return f"sng({show_elem(elem)})"
        case SngBag(site, body):
            return f"sng[{site}]({show(body)})"
        case Flatten(of):
            return f"flatten({show(of)})"
        case Product(left, right):
            return f"({show(left)} × {show(right)})"
        case Plus(left, right):
            return f"({show(left)} ⊎ {show(right)})"
        case Neg(of):
            return f"⊖({show(of)})"
        case Empty(row):
            return f"∅[{row}]"
        case Apply(dictionary, label):
            return f"{show_dict(dictionary)}({show_elem(label)})"
        case _:
            assert_never(e)


def _for(var: str, source: Expr, body: Expr) -> str:
    """``for _ in p union e`` directly inside a for is the where clause of the paper's example 2."""
    conditions = []
    while isinstance(body, For) and body.var.startswith("_") and isinstance(body.source, Pred):
        conditions.append(show_elem(body.source.cond))
        body = body.body
    if isinstance(source, Pred) and var.startswith("_"):
        return f"where {' and '.join([show_elem(source.cond), *conditions])} union {show(body)}"
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"for {var} in {show(source)}{where} union {show(body)}"


def show_dict(d: DictExpr) -> str:
    """A dictionary on one line."""
    match d:
        case DictRel(name, _, at):
            return at.show(name)
        case DictLit(site, var, body):
            return f"[{var}: {site} ↦ {show(body)}]"
        case DictPlus(left, right):
            return f"({show_dict(left)} ⊎ {show_dict(right)})"
        case DictUnion(left, right):
            return f"({show_dict(left)} ∪ {show_dict(right)})"
        case DictEmpty():
            return "[]"
        case _:
            assert_never(d)


def summands(e: Expr) -> tuple[Expr, ...]:
    """e₁, …, eₙ of e₁ ⊎ … ⊎ eₙ."""
    return (*summands(e.left), *summands(e.right)) if isinstance(e, Plus) else (e,)


def _call(fn: str, args: tuple[str, ...]) -> str:
    generic = fn.split("_", maxsplit=1)[0] if fn.split("_", maxsplit=1)[0] in INFIX else fn
    if generic in INFIX and len(args) == 2:
        return f"({args[0]} {INFIX[generic]} {args[1]})"
    match fn, args:
        case "is_null", (a,):
            return f"({a} is null)"
        case "is_true", (a,):
            return f"({a} is true)"
        case "not", (a,):
            return f"not {a}"
        case _:
            return f"{fn}({', '.join(args)})"


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value)
