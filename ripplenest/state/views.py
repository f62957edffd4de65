"""Views as a state has them: kept fresh, or waiting to be rebuilt because their maps are another compiler's."""

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Protocol, runtime_checkable

from attrs import field, frozen

from ripplenest.delta.compile import Options, Stages
from ripplenest.delta.groups.swap import Programs
from ripplenest.delta.judge import Judgement, judge
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.errors import CorruptState, QueryError, WrongValue
from ripplenest.nrc.reserved import check_free_of_maps, is_shared
from ripplenest.nrc.serial import query_from_json, query_to_json
from ripplenest.nrc.syntax import Assumed, Query
from ripplenest.nrc.types import STRING
from ripplenest.nrc.values import to_value
from ripplenest.plan.planned import Plan, plan
from ripplenest.schema.shape import OutputShape, shape_of
from ripplenest.state.stored import StoredView, shape_of_stored, stored_shape, write

_programs = Programs()
compile_view = _programs.compile  # views that differ in their rings are derived once
OTHER_PROGRAM = ""  # the fingerprint of maps of which only that is known: they are not those of any program now


class HasQuery(Protocol):
    """A view of a surface: what ``@view`` makes of a function, or a file of the text language."""

    @property
    def query(self) -> Query:
        """The view before compilation."""


@runtime_checkable
class Source(HasQuery, Protocol):
    """One whose source is there to be read."""

    def assumes(self) -> tuple[Assumed, ...]:
        """What it takes for granted of its relations."""


@frozen(slots=False)
class Kept:
    """A view that is kept fresh: its term, how it was compiled, and what the compiler made of it."""

    query: Query
    options: Options
    stages: Stages
    plan: Plan

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def fingerprint(self) -> str:
        return self.program.fingerprint

    @property
    def program(self) -> TriggerProgram:
        return self.stages.program

    @cached_property
    def shape(self) -> OutputShape:
        """What its readers see."""
        return shape_of(self.program)

    @property
    def relations(self) -> frozenset[str]:
        """The relations that it reads."""
        return frozenset(name for name, _ in self.query.relations)

    @property
    def maps(self) -> Mapping[str, str]:
        """Its stored maps, with their digests."""
        return self.plan.digests

    @cached_property
    def judgement(self) -> Judgement:
        """What its triggers cost, in the symbols of the relations."""
        return judge(self.query, self.stages)

    @cached_property
    def text(self) -> str:
        """How it is stored with the state."""
        return stored_text(self.query, self.fingerprint, self.options, self.maps, self.shape)


@frozen
class Waiting:
    """A view that waits to be rebuilt: readable as its maps are, which batches leave alone.

    ``why`` it waits; ``behind`` is the last version that its maps are right for, None as long as no batch has changed
    what it reads. ``made`` is what this compiler makes of it, or the reason why it makes nothing. Where the
    state says no ``shape``, it is what this compiler would show, if the stored tables have those columns.
    """

    name: str
    why: str
    query: Query
    options: Options
    maps: Mapping[str, str]
    behind: int | None
    made: Kept | QueryError
    shape: OutputShape | None

    @property
    def relations(self) -> frozenset[str]:
        """The relations that it reads."""
        return frozenset(name for name, _ in self.query.relations)

    def owns(self, table: str) -> bool:
        """Whether a stored table is one of its own maps; of maps that views share only ``maps`` can tell."""
        is_named = table.startswith(f"{self.name}/") and not is_shared(table)
        return table == self.name or is_named or table in self.maps


def stored_text(
    query: Query, program: str, options: Options, maps: Mapping[str, str], shape: OutputShape | None
) -> str:
    """How a view is stored whose maps are those of ``program``."""
    stored = None if shape is None else stored_shape(shape)
    return write(StoredView(query_to_json(query), program, options, maps, stored))


def compiled(query: Query, options: Options) -> Kept:
    """``query`` with its plans. Raises QueryError."""
    stages, planned = _stages(compile_view, _Term(query_to_json(query), query), options)
    return Kept(query, options, stages, planned)


@frozen
class _Term:
    """A query as it is stored, which tells constants apart that Python does not, such as 1 and True."""

    text: str
    query: Query = field(eq=False)


@lru_cache(maxsize=64)
def _stages(compiler: Callable[[Query, Options], Stages], term: _Term, options: Options) -> tuple[Stages, Plan]:
    """What ``compiler`` makes of a view, kept for who asks again: states are opened, and views made, more than once."""
    stages = compiler(term.query, options)
    return stages, plan(stages.program)


def view_of(name: str, stored: StoredView, behind: int | None) -> Kept | Waiting:
    """The view that is ``stored``. Raises CorruptState."""
    query = query_from_json(stored.query)
    if query.name != name:
        raise CorruptState("the state has a view under another name", where=f"view:{name}", wanted=name, got=query.name)
    made = _made(query, stored.options)
    why = _waits(made, stored.program, behind)
    if isinstance(made, Kept) and not why:
        return made
    known = None if stored.shape is None else shape_of_stored(name, stored.program, stored.shape)
    shape = made.shape if known is None and isinstance(made, Kept) else known
    return Waiting(name, why, query, stored.options, stored.maps, behind, made, shape)


def _made(query: Query, options: Options) -> Kept | QueryError:
    try:
        return compiled(query, options)
    except QueryError as error:
        return error


def _waits(made: Kept | QueryError, program: str, behind: int | None) -> str:
    """Why a view waits; "" when it does not."""
    if isinstance(made, QueryError):
        return f"this release does not compile it: {made.what}"
    if made.fingerprint != program:
        return "this release makes another program of it than the one that its maps are of"
    return "" if behind is None else "a release that makes another program of it has applied batches"


def query_of(view: object) -> Query:
    """The term of a view, whose name is text. Raises QueryError for what is none, WrongValue for another name, and
    NameTaken for one that is ours."""
    query = getattr(view, "query", None)
    if not isinstance(query, Query):
        raise QueryError("not a view", wanted="a function with @view", got=type(view).__name__)
    if to_value(query.name, STRING, "view name") == "":
        raise WrongValue("a view needs a name", where="view name", got="an empty string")
    check_free_of_maps(query.name, f"view {query.name}")
    return query
