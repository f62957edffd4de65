"""``@view``: a Python function over relations, read from its source as a term of the calculus.

A view is read where it is defined, so that errors come early; where it uses names that are defined further down, at
its first use. Constants are those of that moment. The function itself never runs.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Never

from ripplenest.nrc import types as nrc
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.assumed import assumed
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.border import Border, public
from ripplenest.nrc.errors import QueryError, TypeMismatch, UnknownRelation, Unsupported
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.printing.showing import shown
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.surface.names import name_apart
from ripplenest.nrc.surface.python.body import read_body
from ripplenest.nrc.surface.python.reader import read
from ripplenest.nrc.surface.python.returned import check_returned, declared
from ripplenest.nrc.surface.python.scope import Scope, Session
from ripplenest.nrc.surface.python.source import Definition, Source, read_source
from ripplenest.nrc.surface.readings import BagTerm, as_bag
from ripplenest.nrc.surface.records import NotDefinedYet, annotation_type
from ripplenest.nrc.surface.rings import Moments, Ring
from ripplenest.nrc.surface.surroundings import Surroundings
from ripplenest.nrc.syntax import Assumed, Query, Rel
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.values import from_value, to_value
from ripplenest.nrc.walk import Names


@public
class View(Definition):
    """A named query. ``query`` is its term, ``row`` the type of its rows."""

    def __init__(
        self, function: Callable[..., object], around: Surroundings, rings: Mapping[str, Ring | Moments] | None = None
    ) -> None:
        self._rings = rings or {}
        self._source, self._around = read_source(function, around), around
        self._function = function
        self.name = self._source.tree.name
        self.__name__, self.__doc__ = self.name, function.__doc__
        self._query: Query | None = None
        self._assumes: tuple[Assumed, ...] | None = None
        self._row: nrc.Type | None = None

    @property
    def source(self) -> Source:
        return self._source

    @property
    def query(self) -> Query:
        """The view as a term; Query.relations are the parameters. Raises QueryError with file, line and column."""
        if self._query is None:
            try:
                self._query, self._row = _read(self.name, self._source, self.parameters(), self._rings)
            except QueryError as error:  # the place is in the message; the frames of the reader help nobody
                raise error.with_traceback(None) from None
            self._around.keep(set(re.findall(r"\w+", "".join(self._source.lines))))
        return self._query

    def again(self, rows: Mapping[str, nrc.Type]) -> Query:
        """The term that the source is over relations with these ``rows``, by name. Raises QueryError."""
        parameters = self.parameters() | {name: nrc.Bag(row) for name, row in rows.items()}
        return _read(self.name, self._source, parameters, self._rings, as_declared=False)[0]

    def assumes(self) -> tuple[Assumed, ...]:
        """What it takes for granted of its relations; found once."""
        if self._assumes is None:
            self._assumes = assumed(self.again({}), self.again)  # constants of helpers may be others by now
        return self._assumes

    @property
    def row(self) -> nrc.Type:
        """The type of one row of the result."""
        assert self.query is not None
        assert self._row is not None
        return self._row

    def over(self, name: str | None = None, /, **rings: Ring | Moments) -> "View":
        """The view with a ring for each ring variable that it leaves open, and a name of its own if that is given.

        Raises QueryError for a variable that the view does not have, and for what is no ring.
        """
        odd = {variable: kind(r) for variable, r in rings.items() if not isinstance(r, Ring | Moments)}
        if odd:
            got = ", ".join(f"{variable}={what}" for variable, what in odd.items())
            raise TypeMismatch("a ring variable stands for a ring", got=got, possible=["rn.MaxProduct", "@rn.ring"])
        made = View(self._function, self._around, {**self._rings, **rings})
        made.name = made.__name__ = name or self.name
        with suppress(NotDefinedYet):  # other variables are open still
            _ = made.query
        return made

    def parameters(self) -> dict[str, nrc.Bag]:
        """Each parameter with the type of its annotation."""
        source, args = self._source, self._source.tree.args
        odd = [*args.kwonlyargs, *args.kw_defaults, *args.defaults, args.vararg, args.kwarg]
        if any(odd):
            what = "a view's parameters are its relations: no defaults, no *, no **"
            error = Unsupported(what, possible=["M: Bag[Movie]"])
            source.decorate(error, source.tree)
            raise error
        return {arg.arg: self._parameter(arg.arg) for arg in (*args.posonlyargs, *args.args)}

    def _parameter(self, name: str) -> nrc.Bag:
        args = self._source.tree.args
        node = next(a for a in (*args.posonlyargs, *args.args) if a.arg == name)
        annotation = inspect.get_annotations(self._function).get(name)
        possible = [f"{name}: Bag[Movie], of a @record class or of base values"]
        try:
            if annotation is None:
                raise TypeMismatch(f"the parameter {name!r} needs a type", wanted="Bag[...]", possible=possible)
            type_ = annotation_type(self._source.annotation(annotation, ""), "")
            if not isinstance(type_, nrc.Bag) or type_.nullable:
                raise TypeMismatch("a parameter is a relation", wanted="Bag[...]", got=type_, possible=possible)
        except (TypeMismatch, Unsupported, NotDefinedYet) as error:
            self._source.decorate(error, node)
            raise
        return type_

    def __call__(self, *args: Iterable[object], **kwargs: Iterable[object]) -> list[Any]:
        """The rows for plain Python rows (dicts, records, base values, lists for inner bags), by the interpreter,
        sorted as a database shows them.

        Raises WrongColumns or WrongValue for rows that do not fit, UnknownRelation for other arguments.
        """
        query = self.query
        given = self._given(args, kwargs)
        db = {name: _bag(given[name], row, name) for name, row in query.relations}
        rows: list[Any] = from_value(evaluate(exact(query.body), db), nrc.Bag(self.row), "", shown(query))
        return rows

    def _given(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        names = [name for name, _ in self.query.relations]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(given) != set(names) or set(names[: len(args)]) & set(kwargs):
            got = f"{len(args)} without a name, and {', '.join(kwargs) or 'none'} by name"
            raise UnknownRelation("other arguments than relations", where=self.name, wanted=", ".join(names), got=got)
        return given

    def __repr__(self) -> str:
        return f"<view {self.name}({', '.join(f'{n}: {t}' for n, t in self.parameters().items())})>"


def _bag(rows: object, row: nrc.Type, name: str) -> BagValue:
    value = to_value(rows, nrc.Bag(row), name)
    assert isinstance(value, BagValue)
    return value


def view(function: Callable[..., object] | None = None, **options: Never) -> View:
    """A function whose parameters are relations, ``M: Bag[Movie]``, and that returns a bag, as a View.

    Raises a QueryError that says where in the source it is, what is wrong there and what the nearest supported form is.
    """
    with Border():
        if function is None or isinstance(function, str) or options:
            raise _in_parentheses(function, options)
        made = View(function, Surroundings(2))
        with suppress(NotDefinedYet):  # defined further down, perhaps: read again at first use
            _ = made.query
    return made


def _in_parentheses(function: object, options: Iterable[str]) -> Unsupported:
    """For ``@rn.view()``, ``@rn.view("name")`` and ``@rn.view(name="name")``."""
    given = [repr(function)] if isinstance(function, str) else []
    got = f"@rn.view({', '.join([*given, *(f'{name}=...' for name in options)])})"
    possible = ["`@rn.view` without parentheses", 'another name by `v.over("name")`']
    return Unsupported("a view is called as its function is", got=got, possible=possible)


def _read(
    name: str,
    source: Source,
    parameters: Mapping[str, nrc.Bag],
    rings: Mapping[str, Ring | Moments],
    as_declared: bool = True,
) -> tuple[Query, nrc.Type]:
    """Source → reading → term → names apart → type checked."""
    session = Session(read, Names(frozenset(parameters)), rings, as_declared)
    relations = {n: BagTerm(Rel(n, t.row), t) for n, t in parameters.items()}
    scope = Scope(source, session, (name,)).enter(source, relations)
    reading = read_body(scope)
    with scope.located(source.tree.body[-1]):
        if unknown := rings.keys() - session.open:
            got, possible = ", ".join(sorted(unknown)), sorted(session.open)
            raise TypeMismatch("the view has no such ring variable", got=got, possible=possible)
        found = as_bag(reading)
        if as_declared and (wanted := declared(source)) is not None:
            check_returned(found, wanted)
        check_limits(found.expr)
        body = name_apart(found.expr)
        row = check(body).row
    return Query(name, body, tuple((n, t.row) for n, t in parameters.items()), sorted=found.sorted), row
