"""What a database has declared: its relations, and its views with the plans that keep them fresh.

Both are stored with the state as data and never forgotten; a process that opens the state compiles the views again.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Protocol, TypeVar

import cattrs
from attrs import field, frozen
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn

from ripplenest.delta.compile import Options, Stages, compile_view
from ripplenest.delta.judge import Judgement, check_strict, judge
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.errors import (
    CorruptState,
    NameTaken,
    QueryError,
    TypeMismatch,
    UnknownRelation,
    ViewChanged,
    WrongValue,
)
from ripplenest.nrc.reserved import check_free_of_maps
from ripplenest.nrc.serial import query_from_json, query_to_json, type_from_json, type_to_json
from ripplenest.nrc.syntax import Query
from ripplenest.nrc.types import STRING, Base, Record
from ripplenest.nrc.values import to_value
from ripplenest.plan.planned import Plan, merged, plan
from ripplenest.schema.relation import Relation
from ripplenest.schema.shape import OutputShape, shape_of
from ripplenest.version.folding import Fold

STORED = cattrs.Converter()
STORED.register_structure_hook(Options, make_dict_structure_fn(Options, STORED, _cattrs_forbid_extra_keys=True))


class HasQuery(Protocol):
    """A view of a surface: what ``@view`` makes of a function, or a file of the text language."""

    @property
    def query(self) -> Query:
        """The view before compilation."""


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

    @cached_property
    def judgement(self) -> Judgement:
        """What its triggers cost, in the symbols of the relations."""
        return judge(self.query, self.stages)

    def meta(self) -> dict[str, str]:
        """How it is stored with the state."""
        options = STORED.unstructure(self.options)
        stored = {"query": query_to_json(self.query), "options": options, "program": self.fingerprint}
        return {f"view:{self.name}": json.dumps(stored)}


def compiled(query: Query, options: Options) -> Kept:
    """``query`` with its plans. Raises QueryError."""
    stages = compile_view(query, options)
    return Kept(query, options, stages, plan(stages.program))


@frozen
class Declared:
    """The relations and views by name, and which bags of a relation that could be arrays are shredded."""

    relations: dict[str, Relation] = field(factory=dict)
    views: dict[str, Kept] = field(factory=dict)
    unfolded: dict[str, tuple[str, ...]] = field(factory=dict)
    _merged: dict[tuple[str, ...], Plan] = field(factory=dict)

    def read(self, meta: Mapping[str, str]) -> None:
        """Take in what the state declares and is not known yet. Raises ViewChanged for a view of another compiler,
        CorruptState for what is no declaration."""
        for key, text in sorted(meta.items()):
            kind, _, name = key.partition(":")
            if kind == "relation" and name not in self.relations:
                self.relations[name] = _relation(name, _stored(key, text, _StoredRelation))
            elif kind == "unfolded":
                self.unfolded[name] = _stored(key, text, tuple[str, ...])
            elif kind == "view" and name not in self.views:
                kept = _recompiled(name, _stored(key, text, _StoredView))
                self._check_apart(kept)
                self.views[name] = kept

    def shared(self) -> frozenset[str]:
        """The auxiliary maps of all views, which another view shares. What is stored under such a name may also be a
        relation, in states from before names were reserved."""
        return frozenset(name for view in self.views.values() for name in view.plan.auxiliaries)

    def _check_apart(self, view: Kept) -> None:
        """Raises NameTaken when the state has something else under the name of a map of ``view``, whose rows are then
        not those of its definition. No state can come to that since names are reserved."""
        others = {part: f"relation {r.name}" for r in self.relations.values() for part in r.parts}
        for known in self.views.values():
            others |= {m.name: f"view {known.name}" for m in known.plan.maps if m.name not in known.plan.auxiliaries}
        for m in view.plan.maps:
            if m.name in others:
                raise NameTaken(
                    f"the state has a {others[m.name].partition(' ')[0]} with the name of a map of this view",
                    where=f"view {view.name}",
                    wanted="a table of its own",
                    got=f"{m.name} of {others[m.name]}",
                    possible=["a new state directory, into which the relations are loaded"],
                )

    def plan(self) -> Plan:
        """The plans of all views as one; made again only when there is another view."""
        key = tuple(self.views)
        if key not in self._merged:
            self._merged.clear()
            self._merged[key] = merged([view.plan for view in self.views.values()])
        return self._merged[key]

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The inner bags that can be arrays."""
        return tuple(Fold(r, root) for r in self.relations.values() for root in r.arrays)

    @property
    def folded(self) -> tuple[Fold, ...]:
        """Those that are."""
        return tuple(f for f in self.folds if f.root not in self.unfolded.get(f.relation.name, ()))

    def looked_into(self, view: Kept) -> tuple[Fold, ...]:
        """The folded bags that a view reads."""
        program = view.program
        read = {name for m in program.maps for name in m.reads}
        return tuple(f for f in self.folded if read & f.parts.keys())

    def unfolding(self, folds: Iterable[Fold]) -> dict[str, str]:
        """How it is stored that ``folds`` are arrays no longer."""
        found = dict(self.unfolded)
        for f in folds:
            found[f.relation.name] = (*found.get(f.relation.name, ()), f.root)
        return {f"unfolded:{name}": json.dumps(roots) for name, roots in found.items()}

    def check_strict(self, changed: Collection[str]) -> None:
        """Raises NotIncremental when a trigger for one of the changed parts does not cost what the change costs."""
        for view in self.views.values():
            check_strict(view.query, view.judgement, changed)

    def check_free(self, names: Iterable[str], tables: Collection[str]) -> None:
        """``names`` are a relation or a view and what is stored under it. Raises NameTaken."""
        for name in names:
            if name in self.relations or name in self.views or name in tables:
                raise NameTaken("the name is in use", where=name, possible=["another name"])

    def check_relations(self, query: Query) -> None:
        """Raises UnknownRelation or TypeMismatch when ``query`` reads what is not declared so."""
        where = f"view {query.name}"
        for name, row in query.relations:
            if name not in self.relations:
                what = "the view reads a relation that is not declared"
                raise UnknownRelation(what, where=where, got=name, possible=self.relations)
            declared = self.relations[name].row
            if declared != row:
                what = f"the view reads {name} with other fields than it was declared with"
                raise TypeMismatch(what, where=where, wanted=declared, got=row)

    def check_same(self, view: Kept, materialize: str | None) -> None:
        """Raises ViewChanged when the view of this name has another definition, or was not created with
        ``materialize``."""
        known = self.views[view.name]
        if materialize not in (None, known.options.materialize):
            raise ViewChanged(
                "the view is kept with other maps",
                where=f"view {view.name}",
                wanted=f"materialize={known.options.materialize!r}",
                got=materialize,
                possible=["create without materialize", "another name", "a new state directory"],
            )
        if known.fingerprint != view.fingerprint:
            raise ViewChanged(
                f"the state was built by another definition of {view.name}",
                where=f"view {view.name}",
                wanted=known.fingerprint[:16],
                got=view.fingerprint[:16],
                possible=["another name for the new definition", "a new state directory"],
            )


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


def relation_meta(r: Relation) -> dict[str, str]:
    """How a relation is stored with the state."""
    stored = {"row": type_to_json(r.row), "key": r.key, "immutable": r.immutable, "arrays": r.arrays}
    return {f"relation:{r.name}": json.dumps(stored)}


@frozen
class _StoredRelation:
    """A state from before relations could say what is immutable says nothing of it."""

    row: str
    key: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()


@frozen
class _StoredView:
    query: str
    program: str
    options: Options = field(factory=Options)


T = TypeVar("T")


def _stored(key: str, text: str, as_: type[T]) -> T:
    """What the state says under ``key``. Whoever wrote it is not trusted: it is data of this shape, or CorruptState."""
    try:
        return STORED.structure(json.loads(text), as_)
    except (ValueError, TypeError, RecursionError, BaseValidationError) as error:
        what = "the state does not say how this is declared"
        raise CorruptState(what, where=key, wanted="what was stored", got=type(error).__name__) from error


def _relation(name: str, stored: _StoredRelation) -> Relation:
    found = Relation(name, type_from_json(stored.row), stored.key, stored.immutable, stored.arrays)
    base = {f for f, t in found.row.fields if isinstance(t, Base)} if isinstance(found.row, Record) else set()
    parts = set(list(found.parts)[1:])
    if not (base.issuperset(found.key) and parts.issuperset((*found.immutable, *found.arrays))):
        raise CorruptState("the state does not say how this is declared", where=f"relation:{name}", wanted="its fields")
    return found


def _recompiled(name: str, stored: _StoredView) -> Kept:
    kept = compiled(query_from_json(stored.query), stored.options)
    if kept.name != name:
        raise CorruptState("the state has a view under another name", where=f"view:{name}", wanted=name, got=kept.name)
    if kept.fingerprint != stored.program:
        raise ViewChanged(
            f"this version of the compiler makes another program of {name}", where=f"view {name}",
            wanted=stored.program[:16], got=kept.fingerprint[:16],
            possible=["the version of ripplenest that built the state", "a new state directory"],
        )  # fmt: skip
    return kept
