"""Where first rows end, and which of them places share, that are so far in another order than that of their edges.

Rows of O are there once for all places that compare with them, which equalities tell, and nothing else; those that end
do so where their edges would be, moved by something constant. Some limits are too great for it
(``ripplenest/run/so_far.py``).
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.delta.chain import Chain
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.ends import edge
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.syntax import Apply, Call, Elem, GroupRel, Lit, Order, Top
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type, nullable
from ripplenest.nrc.walk import free_vars

MOST = 1_000  # first rows so far, of which each takes a pass over all rows
MOST_BETWEEN = 16  # the same where rows end, of which as many are kept for each row, and compared
MOVES = frozenset((
    "add_int", "sub_int", "add_long", "sub_long", "add_decimal", "sub_decimal", "to_long", "to_decimal", "days_after",
    "micros_after", *(f"at_{end}_{kind}" for end in ("most", "least") for kind in ("int", "long", "date", "timestamp")),
))  # fmt: skip


@frozen
class End:
    """A value of a ``type`` at which rows end."""

    value: Elem
    type: Base
    open: bool


def ended(rows: Chain, by: Order, value: Elem, types: Mapping[str, Type]) -> tuple[Chain, End | None]:
    """The rows without the condition that says where they end, if that moves as the ``value`` does where they begin."""
    for c in rows.conjuncts:
        end, is_open = edge(c, by.by, not by.descending, types)
        if end is None or _moved(end) is None or _moved(end) != _moved(value) or not is_total(end, types):
            continue
        t = elem_type(end, types)
        if isinstance(t, Base) and nullable(t) == nullable(elem_type(by.by, types)):
            return evolve(rows, conditions=tuple(p for p in rows.conjuncts if p != c)), End(end, t, is_open)
    return rows, None


def _moved(t: Elem) -> Elem | None:
    """The column that it is, with something constant added to it or not: the greater that is, the greater it is."""
    match t:
        case Call(fn, (a, *others)) if fn in MOVES and all(isinstance(o, Lit) for o in others):
            return _moved(a)
    return None if column_of(t) is None else t


def are_shared(rows: Chain, t: Top) -> bool:
    """Whether places have rows in common but for those that equalities tell, and these are not the few that a group or
    other first rows have for each."""
    terms = (rows.head, *(rows.read(o.by, t.var) for o in t.order))
    answers = (e for _, e in rows.generators if isinstance(e, Apply) and isinstance(e.dictionary, GroupRel))
    are_own = all(free_vars(own) <= rows.own for own in (*terms, *answers))
    return are_own and all(_is_shared(c, rows.own) for c in rows.conjuncts)


def _is_shared(c: Elem, own: AbstractSet[str]) -> bool:
    match c:
        case Call("eq" | "same", (a, b)) if free_vars(c) - own:
            sides = (free_vars(a), free_vars(b))
            return any(x <= own and not y & own for x, y in (sides, sides[::-1]))
    return free_vars(c) <= own
