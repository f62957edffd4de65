"""``explain``: every stage of the compiler for one view (``delta.compile.compile_view``), in one object."""

from collections.abc import Callable, Collection, Mapping

from attrs import evolve

from ripplenest.delta.compile import Options, Stages, compile_view
from ripplenest.delta.judge import by_key, judge
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.explanation.explanation import Explanation
from ripplenest.explanation.facts import Facts
from ripplenest.nrc.arguments import mapping, one_of
from ripplenest.nrc.border import bordered
from ripplenest.nrc.errors import QueryError, UnknownName
from ripplenest.nrc.syntax import Query
from ripplenest.shred.contexts import parts_of
from ripplenest.state.pieces import Piece
from ripplenest.state.views import HasQuery, Kept, query_of

__all__ = ["Explanation", "explain", "explain_kept"]

Rows = Mapping[str, int]
Where = tuple[Piece, ...]


@bordered
def explain(
    view: Query | HasQuery,
    sizes: Rows | None = None,
    delta: Rows | None = None,
    materialize: Materialize = "cost",
) -> Explanation:
    """What the compiler makes of ``view``.

    ``sizes``: rows by relation or stored part (``M``, ``Customers.orders``); ``delta``: changed rows of a usual batch
    likewise. What is not given stays a symbol in costs, and the choice of maps assumes something. ``materialize`` as
    in ``Database.create``. Raises a QueryError for a view that is not well typed, UnknownName for a part that it does
    not read, or a changed one whose rows are not given.
    """
    query = view if isinstance(view, Query) else query_of(view)
    rows, changes = _checked(query, {} if sizes is None else sizes, {} if delta is None else delta)
    one_of(materialize, MODES, "there is no such way to materialise", f"explain {query.name}", QueryError)
    return _explained(query, compile_view(query, Options(materialize, rows, changes)), rows, changes, {})


def explain_kept(view: Kept, sizes: Rows, delta: Rows, largest: Rows, pieces: Callable[[Rows], Where]) -> Explanation:
    """The same for a view of a database, with the maps that are kept there, the ``largest`` inner bags of parts, and
    the ``pieces`` of work when a batch changes so many rows."""
    found = _explained(view.query, view.stages, *_checked(view.query, sizes, delta), largest)
    where, chosen = pieces(found.facts.assumed_changes), dict(view.options.rows)
    return Explanation(evolve(found.facts, pieces=where, chosen=chosen))


def _explained(query: Query, stages: Stages, rows: Rows, changes: Rows, largest: Rows) -> Explanation:
    judgement = judge(query, stages, by_key(rows, changes), largest)
    return Explanation(Facts(query, stages, judgement, rows, changes, largest))


def _checked(query: Query, sizes: Rows, delta: Rows) -> tuple[Rows, Rows]:
    parts = parts_of(query)
    where = f"view {query.name}, "
    _check_counts(f"{where}sizes", "the view reads no such part", sizes, parts)
    _check_counts(f"{where}delta", "no such part has its size given", delta, [p for p in parts if p in sizes])
    return dict(sizes), dict(delta)


def _check_counts(where: str, unknown: str, rows: Rows, possible: Collection[str]) -> None:
    for name, n in mapping(rows, where, QueryError).items():
        if name not in possible:
            raise UnknownName(unknown, where=where, got=name, possible=possible)
        if type(n) is not int or not 1 <= n < 2**63:
            wanted = "an integer above 0, of 64 bits"
            raise QueryError("not a number of rows", where=f"{where}[{name}]", wanted=wanted, got=n)
