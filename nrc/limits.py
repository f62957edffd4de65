"""The limits on terms and sources, checked where a surface builds them: recursive code would die on what is larger.

Nesting counts nodes from the root to a leaf. The walk is iterative and stops at the limit, so that a small graph of
shared nodes that unfolds into a huge tree costs no more than the limit.
"""

from ripplenest.nrc.errors import TooBig, TooDeep
from ripplenest.nrc.syntax import Term
from ripplenest.nrc.walk import children

MAX_DEPTH = 100
MAX_NODES = 50_000
MAX_PRODUCTS = 5_000  # summands of a normal form
MAX_SOURCE = 1_000_000  # bytes of UTF-8


def check_limits(e: Term) -> None:
    """Raises TooDeep or TooBig when ``e`` is beyond the limits."""
    todo: list[tuple[Term, int]] = [(e, 1)]
    count = 0
    while todo:
        node, depth = todo.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise TooDeep("the term is nested too deeply", wanted=f"at most {MAX_DEPTH} levels")
        if count > MAX_NODES:
            raise TooBig("the term is too big", wanted=f"at most {MAX_NODES} nodes")
        todo.extend((child, depth + 1) for child in children(node))


def check_source(text: str) -> None:
    """Raises TooBig when a source text is beyond the limit."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE:
        raise TooBig("the source is too big", wanted=f"at most {MAX_SOURCE} bytes", got=f"{size} bytes")
