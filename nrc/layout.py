"""Terms on several lines, as the paper breaks them: a generator with its ``where``, and a summand, per line."""

from collections.abc import Iterator
from typing import assert_never

from ripplenest.nrc.pretty import (
    AND,
    INFIX,
    conjunction,
    for_clause,
    inside,
    level,
    open_definition,
    parameters,
    show,
    show_dict,
    show_elem,
    show_site,
    summands,
)
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
    Let,
    LetVar,
    Neg,
    Plus,
    Pred,
    Product,
    Rel,
    Sng,
    SngBag,
    Tuple,
)
from ripplenest.nrc.text import part, path

WIDTH = 100  # columns, unless told otherwise


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
            return [*_hang("(", _bracketed(left, width - 3)), *_hang(" × ", _bracketed(right, width - 4), ")")]
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
            return [f"[{parameters(d, params)} ↦", *_indent(_hang("", layout(body, width - 3), "]"), 2)]
        case DictPlus(left, right):
            return [*_hang("( ", layout_dict(left, width - 3)), *_hang("⊎ ", layout_dict(right, width - 3), ")")]
        case DictUnion(left, right):
            return [*_hang("( ", layout_dict(left, width - 3)), *_hang("∪ ", layout_dict(right, width - 3), ")")]
        case DictRel() | DictEmpty():
            return [line]
        case _:
            assert_never(d)


def layout_elem(t: Elem, width: int = WIDTH) -> list[str]:
    """An element as lines: a field of a record or label, an operand of ``and`` and ``or`` per line."""
    line = show_elem(t)
    if len(line) <= width:
        return [line]
    match t:
        case Tuple(fields) if fields:
            parts = [_hang(f"{path(n)}: ", layout_elem(a, width - 4 - len(n))) for n, a in fields]
            return _rows("⟨", parts, ",", "⟩")
        case InL(site, args):
            return _rows("⟨", [[show_site(site)], *(layout_elem(a, width - 2) for _, a in args)], ",", "⟩")
        case Call("and" | "or" as fn):
            return _chain(t, fn, width)
        case _:
            return [line]


def _chain(t: Elem, fn: str, width: int) -> list[str]:
    """(a fn b) fn c, an operand per line."""
    tight = INFIX[fn][1]
    if not (isinstance(t, Call) and t.fn == fn):
        return _operand(t, tight, width)
    left, right = t.args
    return [*_chain(left, fn, width), *_hang(f"{fn} ", _operand(right, tight + 1, width - 4))]


def _operand(t: Elem, least: int, width: int) -> list[str]:
    """``inside`` as lines."""
    if len(inside(t, least)) <= width:
        return [inside(t, least)]
    bracket = level(t) < least
    return _hang("(" * bracket, layout_elem(t, width - 2 * bracket), ")" * bracket)


def _for_lines(e: For, width: int) -> Iterator[str]:
    """One ``for … in … where …`` per line, as the paper breaks it: all of a chain or none."""
    head, conditions, body = for_clause(e)
    if head:
        yield from _generator(head, e.source, conditions, width)
    else:
        yield from _where("where ", conditions, width)
    if isinstance(body, For):
        first, *rest = _for_lines(body, width)
        yield "union " + first
        yield from rest
    else:
        yield from _hang("union ", _bracketed(body, width - 6))


def _generator(var: str, source: Expr, conditions: tuple[Elem, ...], width: int) -> Iterator[str]:
    """for x in e, and where p on the same line if it fits there."""
    prefix = f"for {var} in "
    lines = _bracketed(source, width - 6 - len(prefix), (For, Let))
    indented = isinstance(source, SngBag | Flatten)  # below its first line
    lines = [prefix + lines[0], *lines[1:]] if indented else _hang(prefix, lines)
    where = f" where {conjunction(conditions)}"
    if conditions and len(lines) == 1 and len(lines[0]) + len(where) <= width - 6:
        yield lines[0] + where
        return
    yield from lines
    yield from _where("  where ", conditions, width)


def _bracketed(e: Expr, width: int, always: tuple[type, ...] = ()) -> list[str]:
    """``layout``, in the brackets that ``show`` gives ⊎, and those that the place asks for."""
    lines = layout(e, width - 2)
    bracket = (isinstance(e, Plus) and len(lines) > 1) or isinstance(e, always)
    return _hang("(", lines, ")") if bracket else lines


def _where(prefix: str, conditions: tuple[Elem, ...], width: int) -> Iterator[str]:
    line = prefix + conjunction(conditions)
    if conditions and len(line) <= width:
        yield line
        return
    for i, condition in enumerate(conditions):
        word = prefix if i == 0 else f"{'and ':>{len(prefix)}}"
        yield from _hang(word, _operand(condition, AND, width - len(prefix)))


def _hang(prefix: str, lines: list[str], suffix: str = "", own_line: bool = False) -> list[str]:
    """``prefix``, the lines below its end (below its start when it is long), ``suffix``."""
    *most, last = lines
    if own_line:
        return [prefix, *_indent([*most, last + suffix], 4)]
    if not most:
        return [prefix + last + suffix]
    below = len(prefix) if len(prefix) <= 12 else 4
    return [prefix + lines[0], *_indent([*most[1:], last + suffix], below)]


def _rows(opening: str, parts: list[list[str]], separator: str, closing: str) -> list[str]:
    lines: list[str] = []
    for i, (*most, last) in enumerate(parts):
        block = [*most, last + (separator if i < len(parts) - 1 else closing)]
        lines += [(opening if i == 0 else " " * len(opening)) + block[0], *_indent(block[1:], len(opening))]
    return lines


def _indent(lines: list[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]
