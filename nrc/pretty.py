"""Terms as text, in the notation of the paper: ``for m in M where m.gen = "Drama" union sng(⟨name: m.name⟩)``.

``show`` is one line and depends on nothing but the term: fingerprints are made of it. ``layout`` is the same text on
several lines, for people. A chain of predicates reads as one ``where`` with ``and``, which means the same. A field or
parameter whose name is not an identifier is read as ``l⟨m.name⟩``, because ``l.m.name`` would be a path. Text of users
is printed so that nothing in it can look like notation or move a terminal's cursor.
"""

from collections.abc import Iterator
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
from ripplenest.nrc.text import literal, part, path, plain_name, show_type
from ripplenest.nrc.walk import Names, nodes, rebuild, rebuild_elem

INFIX = {
    "or": ("or", 1), "and": ("and", 2),
    "eq": ("=", 4), "ne": ("≠", 4), "lt": ("<", 4), "le": ("≤", 4), "gt": (">", 4), "ge": ("≥", 4), "same": ("<=>", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("·", 6), "div": ("/", 6), "mod": ("mod", 6),
}  # fmt: skip
NOT, COMPARISON, ATOM = 3, 4, 9
WIDTH = 100  # columns of ``layout`` unless told otherwise


# ---------------------------------------------------------------- elements


def show_elem(t: Elem) -> str:
    """An element on one line."""
    return _elem(t)[0]


def _elem(t: Elem) -> tuple[str, int]:
    """The text of ``t`` and how tightly it binds."""
    match t:
        case Var(name):
            return part(name), ATOM
        case Proj(of, name):
            dot = f".{name}" if plain_name(name) else f"⟨{path(name)}⟩"
            return _inside(of, ATOM) + dot, ATOM
        case Lit(value, base):
            return literal(value, base), ATOM
        case Call(fn, args):
            return _call(fn, args)
        case Tuple(fields):
            return "⟨" + ", ".join(f"{path(n)}: {show_elem(a)}" for n, a in fields) + "⟩", ATOM
        case InL(site, args):                       # the label ⟨ι, ε⟩
            return "⟨" + ", ".join((show_site(site), *(show_elem(a) for _, a in args))) + "⟩", ATOM
        case OutL(label, _, param):
            return f"{_inside(label, ATOM)}⟨{path(param)}⟩", ATOM
        case IsSite(label, site):
            return f"{_inside(label, COMPARISON + 1)} ∈ {show_site(site)}", COMPARISON
        case _:
            assert_never(t)


def _call(fn: str, args: tuple[Elem, ...]) -> tuple[str, int]:
    generic = fn.split("_", maxsplit=1)[0]
    if generic in INFIX and len(args) == 2:
        glyph, level = INFIX[generic]
        left = _inside(args[0], level + (level == COMPARISON))
        return f"{left} {glyph} {_inside(args[1], level + 1)}", level
    match fn, args:
        case "is_null" | "is_true", (a,):
            return f"{_inside(a, COMPARISON + 1)} {fn.replace('_', ' ')}", COMPARISON
        case "not", (a,):
            return f"not {_inside(a, NOT)}", NOT
        case _:
            return f"{fn}({', '.join(show_elem(a) for a in args)})", ATOM


def _inside(t: Elem, least: int) -> str:
    text, level = _elem(t)
    return text if level >= least else f"({text})"


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
            head, conditions, body = for_clause(e)
            where = f" where {' and '.join(conditions)}" if conditions else ""
            return f"{head and f'for {head} in {_source(e)}'}{where} union {show(body)}".lstrip()
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
        case Plus(left, right):
            return f"({show(left)} ⊎ {show(right)})"
        case Neg(of):
            return f"⊖({show(of)})"
        case Empty(row):
            return f"∅[{show_type(row)}]"
        case Apply(dictionary, label):
            return f"{show_dict(dictionary)}({show_elem(label)})"
        case _:
            assert_never(e)


def for_clause(e: For) -> tuple[str, tuple[str, ...], Expr]:
    """x, the conditions and the body of ``for x in e₁ where p and … union e₂``; x is empty for a bare ``where``.

    ``for _ in p union e`` directly inside a for is the where clause of the paper's example 2.
    """
    conditions: list[str] = []
    bare = _is_where(e)
    body: Expr = e if bare else e.body
    while isinstance(body, For) and _is_where(body):
        assert isinstance(body.source, Pred)
        conditions.append(_inside(body.source.cond, INFIX["and"][1]))
        body = body.body
    return "" if bare else part(e.var), tuple(conditions), body


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
            return f"[({'; '.join(filter(None, (show_site(d.site.name), ', '.join(params))))}) ↦ {show(body)}]"
        case DictPlus(left, right):
            return f"({show_dict(left)} ⊎ {show_dict(right)})"
        case DictUnion(left, right):
            return f"({show_dict(left)} ∪ {show_dict(right)})"
        case DictEmpty():
            return "[]"
        case _:
            assert_never(d)


def open_definition(d: DictLit) -> tuple[tuple[str, ...], Expr]:
    """Π as short names, apart from every variable of the body, and the body reading them as variables."""
    taken = {n.name for n in nodes(d.body) if isinstance(n, Var | LetVar | Rel)}
    taken |= {n.var for n in nodes(d.body) if isinstance(n, For)}
    names = Names(frozenset(taken))
    short = {p: names.fresh(p.rsplit(".", maxsplit=1)[-1]) for p, _ in d.site.params}

    def elem(t: Elem) -> Elem:
        match t:
            case OutL(Var(var), site, param) if var == d.var and site == d.site:
                return Var(short[param])
            case _:
                return rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, lambda inner: inner)  # definitions are closed: none reads another's parameters

    return tuple(part(n) for n in short.values()), expr(d.body)


def summands(e: Expr) -> tuple[Expr, ...]:
    """e₁, …, eₙ of e₁ ⊎ … ⊎ eₙ."""
    return (*summands(e.left), *summands(e.right)) if isinstance(e, Plus) else (e,)


# ---------------------------------------------------------------- several lines


def layout(e: Expr, width: int = WIDTH) -> list[str]:
    """``show(e)`` as lines of at most ``width`` columns where its atoms allow it: a clause and a summand per line."""
    line = show(e)
    if len(line) <= width:
        return [line]
    match e:
        case For():
            return list(_for_lines(e, width))
        case Let(name, bound, body):
            return [*_hang(f"let {part(name)} := ", layout(bound, width - 4)), *_hang("in ", layout(body, width - 3))]
        case Sng(elem):
            return _hang("sng(", layout_elem(elem, width - 5), ")")
        case SngBag(site, body):
            return _hang(f"sng[{path(site)}](", layout(body, width - 5), ")", own_line=True)
        case Flatten(of):
            return _hang("flatten(", layout(of, width - 5), ")", own_line=True)
        case Product(left, right):
            return [*_hang("(", layout(left, width - 4)), *_hang(" × ", layout(right, width - 4), ")")]
        case Plus():
            first, *rest = summands(e)
            more = [text for s in rest for text in _hang("⊎ ", layout(s, width - 2))]
            return [*_hang("  ", layout(first, width - 2)), *more]
        case Neg(of):
            return _hang("⊖(", layout(of, width - 3), ")")
        case Apply(dictionary, label):
            return _hang("", layout_dict(dictionary, width), f"({show_elem(label)})")
        case Rel() | LetVar() | Pred() | Empty():
            return [line]
        case _:
            assert_never(e)


def layout_dict(d: DictExpr, width: int = WIDTH) -> list[str]:
    """A dictionary as lines of at most ``width`` columns where its atoms allow it."""
    line = show_dict(d)
    if len(line) <= width:
        return [line]
    match d:
        case DictLit():
            params, body = open_definition(d)
            head = f"[({'; '.join(filter(None, (show_site(d.site.name), ', '.join(params))))}) ↦"
            return [head, *_indent(_hang("", layout(body, width - 3), "]"), 2)]
        case DictPlus(left, right):
            return [*_hang("( ", layout_dict(left, width - 3)), *_hang("⊎ ", layout_dict(right, width - 3), ")")]
        case DictUnion(left, right):
            return [*_hang("( ", layout_dict(left, width - 3)), *_hang("∪ ", layout_dict(right, width - 3), ")")]
        case DictRel() | DictEmpty():
            return [line]
        case _:
            assert_never(d)


def layout_elem(t: Elem, width: int = WIDTH) -> list[str]:
    """An element as lines: a field of a record, an operand of ``and`` and ``or`` per line."""
    line = show_elem(t)
    if len(line) <= width:
        return [line]
    match t:
        case Tuple(fields):
            parts = [_hang(f"{path(n)}: ", layout_elem(a, width - 4 - len(n))) for n, a in fields]
            return _rows("⟨", parts, ",", "⟩")
        case Call("and" | "or" as fn, (left, right)):
            return [*layout_elem(left, width), *_hang(f"{fn} ", layout_elem(right, width - 4))]
        case _:
            return [line]


def _for_lines(e: For, width: int) -> Iterator[str]:
    head, conditions, body = for_clause(e)
    if head:
        source = layout(e.source, width - 6)
        wrapped = isinstance(e.source, For | Let | Plus) and len(source) > 1
        yield from _hang(f"for {head} in {'(' if wrapped else ''}", source, ")" if wrapped else "")
    for i, condition in enumerate(conditions):
        yield ("" if not head else "  ") + ("where " if i == 0 else "  and ") + condition
    lines = layout(body, width - 6)
    if isinstance(body, For):
        yield "union " + lines[0]
        yield from lines[1:]
    elif isinstance(body, Plus) and len(lines) > 1:
        yield from _hang("union (", lines, ")")
    else:
        yield from _hang("union ", lines)


def _hang(prefix: str, lines: list[str], suffix: str = "", own_line: bool = False) -> list[str]:
    """``prefix``, the lines below its end (below its start when it is long), ``suffix``."""
    if len(lines) == 1:
        return [prefix + lines[0] + suffix]
    *most, last = lines
    if own_line:
        return [prefix, *_indent([*most, last + suffix], 4)]
    below = len(prefix) if len(prefix) <= 12 else 4
    return [prefix + lines[0], *_indent([*most[1:], last + suffix], below)]


def _rows(opening: str, parts: list[list[str]], separator: str, closing: str) -> list[str]:
    lines: list[str] = []
    for i, block in enumerate(parts):
        block = [*block[:-1], block[-1] + (separator if i < len(parts) - 1 else closing)]
        lines += [(opening if not lines else " " * len(opening)) + block[0], *_indent(block[1:], len(opening))]
    return lines


def _indent(lines: list[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]
