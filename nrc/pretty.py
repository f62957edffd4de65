"""Terms as text, in the notation of the paper: ``for m in M where m.gen = "Drama" union sng(⟨name: m.name⟩)``.

``show`` is one line and depends on nothing but the term: fingerprints are made of it. ``nrc/layout.py`` puts the same
text on several lines, for people. ⊎ and × are always in brackets below another construct, so that the body of a for
ends where they begin. A chain of predicates reads as one ``where`` with ``and``, which means the same. A field or
parameter whose name is not an identifier is read as ``l⟨m.name⟩``, because ``l.m.name`` would be a path.
"""

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
from ripplenest.nrc.text import literal, part, path, plain_name, show_type, variable
from ripplenest.nrc.walk import Names, nodes, rebuild, rebuild_elem

INFIX = {
    "or": ("or", 1), "and": ("and", 2),
    "eq": ("=", 4), "ne": ("≠", 4), "lt": ("<", 4), "le": ("≤", 4), "gt": (">", 4), "ge": ("≥", 4), "same": ("<=>", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("·", 6), "div": ("/", 6), "mod": ("mod", 6),
}  # fmt: skip
AND, NOT, COMPARISON, ATOM = 2, 3, 4, 9


# ---------------------------------------------------------------- elements


def show_elem(t: Elem) -> str:
    """An element on one line."""
    return _elem(t)[0]


def _elem(t: Elem) -> tuple[str, int]:
    """The text of ``t`` and how tightly it binds."""
    match t:
        case Var(name):
            return variable(name), ATOM
        case Proj(of, name):
            dot = f".{name}" if plain_name(name) else f"⟨{path(name)}⟩"
            return inside(of, ATOM) + dot, ATOM
        case Lit(value, base):
            return literal(value, base), ATOM
        case Call(fn, args):
            return _call(fn, args)
        case Tuple(fields):
            return "⟨" + ", ".join(f"{path(n)}: {show_elem(a)}" for n, a in fields) + "⟩", ATOM
        case InL(site, args):                       # the label ⟨ι, ε⟩
            return "⟨" + ", ".join((show_site(site), *(show_elem(a) for _, a in args))) + "⟩", ATOM
        case OutL(label, _, param):
            return f"{inside(label, ATOM)}⟨{path(param)}⟩", ATOM
        case IsSite(label, site):
            return f"{inside(label, COMPARISON + 1)} ∈ {show_site(site)}", COMPARISON
        case _:
            assert_never(t)


def _call(fn: str, args: tuple[Elem, ...]) -> tuple[str, int]:
    generic = fn.split("_", maxsplit=1)[0]
    if generic in INFIX and len(args) == 2:
        glyph, tight = INFIX[generic]
        left = inside(args[0], tight + (tight == COMPARISON))
        return f"{left} {glyph} {inside(args[1], tight + 1)}", tight
    match fn, args:
        case "is_null" | "is_true", (a,):
            return f"{inside(a, COMPARISON + 1)} {fn.replace('_', ' ')}", COMPARISON
        case "not", (a,):
            return f"not {inside(a, NOT)}", NOT
        case _:
            return f"{fn}({', '.join(show_elem(a) for a in args)})", ATOM


def level(t: Elem) -> int:
    """How tightly the text of ``t`` binds."""
    return _elem(t)[1]


def inside(t: Elem, least: int) -> str:
    """The text of ``t``, in brackets when it binds less tightly than ``least``."""
    text, own = _elem(t)
    return text if own >= least else f"({text})"


def show_site(name: str) -> str:
    """ι of the site ``name``."""
    return f"ι[{path(name)}]"


# ---------------------------------------------------------------- bags


def show(e: Expr) -> str:
    """A term on one line."""
    match e:
        case Rel(name, _, at):
            return at.show(part(name))
        case LetVar(name):
            return part(name)
        case Let(name, bound, body):
            return f"let {part(name)} := {show(bound)} in {show(body)}"
        case For():
            return _for(e)
        case Pred(cond):
            return f"p({show_elem(cond)})"
        case Sng(elem):
            return f"sng({show_elem(elem)})"
        case SngBag(site, body):
            return f"sng[{path(site)}]({show(body)})"
        case Flatten(of):
            return f"flatten({show(of)})"
        case Product(left, right):
            return f"({show(left)} × {show(right)})"
        case Plus():
            return f"({' ⊎ '.join([show(s) for s in _left_summands(e)])})"
        case Neg(of):
            return f"⊖({show(of)})"
        case Empty(row):
            return f"∅[{show_type(row)}]"
        case Apply(dictionary, label):
            return f"{show_dict(dictionary)}({show_elem(label)})"
        case _:
            assert_never(e)


def _for(e: For) -> str:
    var, conditions, body = for_clause(e)
    generator = f"for {var} in {_source(e)} " if var else ""
    where = f"where {conjunction(conditions)} " if conditions else ""
    return f"{generator}{where}union {show(body)}"


def for_clause(e: For) -> tuple[str, tuple[Elem, ...], Expr]:
    """x, the conditions and the body of ``for x in e₁ where p and … union e₂``; x is empty for a bare ``where``.

    ``for _ in p union e`` directly inside a for is the where clause of the paper's example 2.
    """
    conditions: list[Elem] = []
    bare = _is_where(e)
    body: Expr = e if bare else e.body
    while isinstance(body, For) and _is_where(body):
        assert isinstance(body.source, Pred)
        conditions.append(body.source.cond)
        body = body.body
    return "" if bare else part(e.var), tuple(conditions), body


def conjunction(conditions: tuple[Elem, ...]) -> str:
    """p₁ and … and pₙ."""
    return " and ".join(inside(c, AND) for c in conditions)


def _is_where(e: For) -> bool:
    return e.var.startswith("_") and isinstance(e.source, Pred)


def _source(e: For) -> str:
    nested = isinstance(e.source, For | Let)
    return f"({show(e.source)})" if nested else show(e.source)


def show_dict(d: DictExpr) -> str:
    """A dictionary on one line; the parameters of a definition are read by name: ``[(ι; n) ↦ … n …]``."""
    match d:
        case DictRel(name, _, at):
            return at.show(part(name))
        case DictLit():
            params, body = open_definition(d)
            return f"[{parameters(d, params)} ↦ {show(body)}]"
        case DictPlus(left, right):
            return f"({show_dict(left)} ⊎ {show_dict(right)})"
        case DictUnion(left, right):
            return f"({show_dict(left)} ∪ {show_dict(right)})"
        case DictEmpty():
            return "[]"
        case _:
            assert_never(d)


def parameters(d: DictLit, params: tuple[str, ...]) -> str:
    """(ι; p, …)"""
    return f"({show_site(d.site.name)}; {', '.join(params)})" if params else f"({show_site(d.site.name)})"


def open_definition(d: DictLit) -> tuple[tuple[str, ...], Expr]:
    """Π as short names, apart from every variable of the body, and the body reading them as variables."""
    taken = {n.name for n in nodes(d.body) if isinstance(n, Var | LetVar | Rel)}
    taken |= {n.var for n in nodes(d.body) if isinstance(n, For)}
    names = Names(frozenset(taken))
    last = {p: p.rsplit(".", maxsplit=1)[-1] for p, _ in d.site.params}
    short = {p: names.fresh(name if plain_name(name) else "p") for p, name in last.items()}

    def elem(t: Elem) -> Elem:
        match t:
            case OutL(Var(var), site, param) if var == d.var and site == d.site:
                return Var(short[param])
            case _:
                return rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, lambda inner: inner)  # definitions are closed: none reads another's parameters

    return tuple(short.values()), expr(d.body)


def summands(e: Expr) -> tuple[Expr, ...]:
    """e₁, …, eₙ of e₁ ⊎ … ⊎ eₙ, however it is bracketed."""
    found, todo = [], [e]
    while todo:
        node = todo.pop()
        if isinstance(node, Plus):
            todo += [node.right, node.left]
        else:
            found.append(node)
    return tuple(found)


def _left_summands(e: Expr) -> list[Expr]:
    """e₁, …, eₙ of (…(e₁ ⊎ e₂) ⊎ …) ⊎ eₙ. A loop, because normal forms can have more summands than the stack frames."""
    found: list[Expr] = []
    while isinstance(e, Plus):
        found.append(e.right)
        e = e.left
    return [e, *reversed(found)]
