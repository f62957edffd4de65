"""The limits on terms and sources, checked where a surface builds them and after each pass: recursive code would die
on what is larger, and a delta may triple what it derives from.

Nesting counts nodes from the root to a leaf. The walks are iterative and stop at the limit, so that a small graph of
shared nodes that unfolds into a huge tree costs no more than the limit.
"""

from collections.abc import Iterator
from typing import assert_never

from ripplenest.nrc.errors import TooBig, TooDeep
from ripplenest.nrc.syntax import DictEmpty, DictRel, Empty, Rel, Term
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.nrc.walk import children

NAMED = (Rel, Empty, DictRel, DictEmpty)  # the leaves that name a type
MAX_DEPTH = 100
MAX_NODES = 50_000
MAX_PRODUCTS = 5_000  # summands of a normal form
MAX_MAPS = 200  # auxiliary maps of a view
MAX_SOURCE = 1_000_000  # bytes of UTF-8


def check_limits(e: Term, where: str = "") -> None:
    """Raises TooDeep or TooBig when ``e``, or a type that it names, is beyond the limits.

    ``where`` begins the message: the pass that made ``e``, or the place in a source.
    """
    todo: list[tuple[Term, int]] = [(e, 1)]
    rows: dict[int, Type] = {}  # by identity: equality of types is recursive
    count = 0
    while todo:
        node, depth = todo.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise TooDeep("the term is nested too deeply", where=where, wanted=f"at most {MAX_DEPTH} levels")
        if count > MAX_NODES:
            raise TooBig("the term is too big", where=where, wanted=f"at most {MAX_NODES} nodes")
        if isinstance(node, NAMED):
            rows[id(node.row)] = node.row
        else:
            todo += [(child, depth + 1) for child in children(node)]
    for row in rows.values():
        check_type_limits(row, where)


def check_type_limits(t: Type, where: str = "") -> None:
    """Raises TooDeep or TooBig when the type ``t`` is beyond the limits."""
    todo = [(t, 1)]
    count = 0
    while todo:
        node, depth = todo.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise TooDeep("the type is nested too deeply", where=where, wanted=f"at most {MAX_DEPTH} levels")
        if count > MAX_NODES:
            raise TooBig("the type is too big", where=where, wanted=f"at most {MAX_NODES} nodes")
        todo.extend((inner, depth + 1) for inner in _inner(node))


def _inner(t: Type) -> Iterator[Type]:
    match t:
        case Base():
            return
        case Record(fields):
            yield from (f for _, f in fields)
        case Bag(row) | Dict(row):
            yield row
        case Label(sites):
            yield from (p for site in sites for _, p in site.params)
        case _:
            assert_never(t)


def check_source(text: str) -> None:
    """Raises TooBig when a source text is beyond the limit."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE:
        raise TooBig("the source is too big", wanted=f"at most {MAX_SOURCE} bytes", got=f"{size} bytes")
