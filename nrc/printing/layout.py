"""Terms on several lines, as the paper breaks them: a generator with its ``where``, and a summand, per line.

The lines are ``show`` broken between two of its words: together they parse to the same term.
"""

from collections.abc import Iterator
from typing import assert_never

from ripplenest.nrc.printing.around import NOWHERE, Around
from ripplenest.nrc.printing.pretty import (
    INFIX,
    Condition,
    definition,
    for_clause,
    group_columns,
    inside,
    left_summands,
    level,
    order_columns,
    show,
    show_dict,
    show_elem,
    show_site,
    sorted_by,
)
from ripplenest.nrc.printing.text import let_variable, path, variable
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
    Group,
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
    Top,
    Tuple,
    Weigh,
)

WIDTH = 100  # columns, unless told otherwise


def layout(e: Expr, width: int = WIDTH, around: Around = NOWHERE) -> list[str]:
    """``show(e)`` as lines of at most ``width`` columns where its atoms allow it: a clause and a summand per line.

    Law 7: parse("\\n".join(layout(e))) = e.
    """
    line = show(e, around)
    if len(line) <= width:
        return [line]
    match e:
        case For():
            return list(_for_lines(e, width, around))
        case Let(name, bound, body):
            first = _hang(f"let {let_variable(name)} := ", _bracketed(bound, width - 4, around))
            return [*first, *_hang("in ", _bracketed(body, width - 3, around.let(name, bound)))]
        case Sng(elem):
            return _hang("sng(", layout_elem(elem, width - 5, around), ")")
        case SngBag(site, body, order):
            end = f"{sorted_by(order)})"
            return _hang(f"sng[{path(site)}](", layout(body, width - 5, around), end, own_line=True)
        case Flatten(of):
            return _hang("flatten(", layout(of, width - 5, around), ")", own_line=True)
        case Product(left, right):
            first = _hang("(", _bracketed(left, width - 3, around))
            return [*first, *_hang(" × ", _bracketed(right, width - 4, around), ")")]
        case Plus():
            head, *rest = left_summands(e)
            more = [text for s in rest for text in _hang("⊎ ", _bracketed(s, width - 2, around))]
            return [*_hang("  ", _bracketed(head, width - 2, around)), *more]
        case Neg(of):
            return _hang("⊖(", layout(of, width - 3, around), ")")
        case Apply(dictionary, label):
            return _hang("", layout_dict(dictionary, width, around), f"({show_elem(label, around)})")
        case Rel() | LetVar() | Pred() | Weigh() | Empty():
            return [line]
        case Group():
            return _group_lines(e, width, around)
        case Top(site, var, of, _, limit):
            opening = f"top[{path(site)}]({limit}, {variable(var)} in "
            lines = _hang(opening, _bracketed(of, width - len(opening), around, (For, Let)))
            if found := order_columns(e, around.rows(var, of)):
                lines += _indent(_rows("order ", [[o] for o in found], ",", ""), 2)
            return [*lines[:-1], lines[-1] + ")"]
        case _:
            assert_never(e)


def _group_lines(g: Group, width: int, around: Around) -> list[str]:
    """What is grouped, and a key and a fold per line."""
    word, keys, folds = group_columns(g, around.rows(g.var, g.of))
    source = _bracketed(g.of, width - 12, around, (For, Let))
    lines = _hang(f"{word}[{path(g.site)}]({variable(g.var)} in ", source)
    for mark, columns in (("by ", keys), ("of ", folds)):
        if columns:
            lines += _indent(_rows(mark, [[c] for c in columns], ",", ""), 2)
    return [*lines[:-1], lines[-1] + ")"]


def layout_dict(d: DictExpr, width: int = WIDTH, around: Around = NOWHERE) -> list[str]:
    """A dictionary as lines of at most ``width`` columns where its atoms allow it."""
    line = show_dict(d, around)
    if len(line) <= width:
        return [line]
    match d:
        case DictLit():
            head, body, inner = definition(d, around)
            return [f"[{head} ↦", *_indent(_hang("", layout(body, width - 3, inner), "]"), 2)]
        case DictPlus(left, right):
            return _two(left, "⊎ ", right, width, around)
        case DictUnion(left, right):
            return _two(left, "∪ ", right, width, around)
        case DictRel() | DictEmpty():
            return [line]
        case _:
            assert_never(d)


def _two(left: DictExpr, glyph: str, right: DictExpr, width: int, around: Around) -> list[str]:
    first = _hang("( ", layout_dict(left, width - 3, around))
    return [*first, *_hang(glyph, layout_dict(right, width - 3, around), ")")]


def layout_elem(t: Elem, width: int = WIDTH, around: Around = NOWHERE) -> list[str]:
    """An element as lines: a field of a record or label, an operand of ``and`` and ``or`` per line."""
    line = show_elem(t, around)
    if len(line) <= width:
        return [line]
    match t:
        case Tuple(fields) if fields:
            parts = [_hang(f"{path(n)}: ", layout_elem(a, width - 4 - len(n), around)) for n, a in fields]
            return _rows("⟨", parts, ",", "⟩")
        case InL(site, args):
            return _rows("⟨", [[show_site(site)], *(layout_elem(a, width - 2, around) for _, a in args)], ",", "⟩")
        case Call("and" | "or" as fn):
            return _chain(t, fn, width, around)
        case _:
            return [line]


def _chain(t: Elem, fn: str, width: int, around: Around) -> list[str]:
    """(a fn b) fn c, an operand per line."""
    tight = INFIX[fn][1]
    if not (isinstance(t, Call) and t.fn == fn):
        return _operand(t, tight, width, around)
    left, right = t.args
    return [*_chain(left, fn, width, around), *_hang(f"{fn} ", _operand(right, tight + 1, width - 4, around))]


def _operand(t: Elem, least: int, width: int, around: Around) -> list[str]:
    """``inside`` as lines."""
    line = inside(t, least, around)
    if len(line) <= width:
        return [line]
    bracket = level(t) < least
    return _hang("(" * bracket, layout_elem(t, width - 2 * bracket, around), ")" * bracket)


def _for_lines(e: For, width: int, around: Around) -> Iterator[str]:
    """One ``for … in … where …`` per line, as the paper breaks it: all of a chain or none."""
    clause = for_clause(e, around)
    if clause.var:
        yield from _generator(clause.var, e.source, clause.conditions, width, around)
    else:
        yield from _where("", clause.conditions, width)
    body = clause.body
    if isinstance(body, For):
        first, *rest = _for_lines(body, width, clause.around)
        yield "union " + first
        yield from rest
    else:
        yield from _hang("union ", _bracketed(body, width - 6, clause.around))


def _generator(
    var: str, source: Expr, conditions: tuple[Condition, ...], width: int, around: Around
) -> Iterator[str]:
    """for x in e, and where p on the same line if it fits there."""
    prefix = f"for {var} in "
    lines = _bracketed(source, width - 6 - len(prefix), around, (For, Let))
    indented = isinstance(source, SngBag | Flatten)  # below its first line
    lines = [prefix + lines[0], *lines[1:]] if indented else _hang(prefix, lines)
    where = "".join(f" {c}" for c in conditions)
    if conditions and len(lines) == 1 and len(lines[0]) + len(where) <= width - 6:
        yield lines[0] + where
        return
    yield from lines
    yield from _where("  ", conditions, width)


def _bracketed(e: Expr, width: int, around: Around, always: tuple[type, ...] = ()) -> list[str]:
    """``layout``, in the brackets that ``show`` gives ⊎, and those that the place asks for."""
    lines = layout(e, width - 2, around)
    bracket = (isinstance(e, Plus) and len(lines) > 1) or isinstance(e, always)
    return _hang("(", lines, ")") if bracket else lines


def _where(indent: str, conditions: tuple[Condition, ...], width: int) -> Iterator[str]:
    line = indent + " ".join(str(c) for c in conditions)
    if conditions and len(line) <= width:
        yield line
        return
    for c in conditions:
        word = f"{indent}{c.word} "
        yield from _hang(word, _operand(c.cond, 0, width - len(word), c.around))


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
