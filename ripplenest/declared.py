"""What a database has declared: its relations, and its views with the plans that keep them fresh.

Both are stored with the state as data and never forgotten; a process that opens the state compiles the views again.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import cattrs
from attrs import field, frozen

from ripplenest.delta.compile import Options, Stages, compile_view
from ripplenest.folding import Fold
from ripplenest.judge import Judgement, check_strict, judge
from ripplenest.nrc.errors import NameTaken, QueryError, TypeMismatch, UnknownRelation, ViewChanged
from ripplenest.nrc.serial import query_from_json, query_to_json, type_from_json, type_to_json
from ripplenest.nrc.syntax import Query
from ripplenest.plan.planned import Merged, PlannedProgram, merged, plan
from ripplenest.relation import Relation

OPTIONS = cattrs.Converter(forbid_extra_keys=True)


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
    planned: PlannedProgram

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def fingerprint(self) -> str:
        return self.planned.program.fingerprint

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
        options = OPTIONS.unstructure(self.options)
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
    _merged: dict[tuple[str, ...], Merged] = field(factory=dict)

    def read(self, meta: Mapping[str, str]) -> None:
        """Take in what the state declares and is not known yet. Raises ViewChanged for a view of another compiler."""
        for key, text in sorted(meta.items()):
            kind, _, name = key.partition(":")
            if kind == "relation" and name not in self.relations:
                self.relations[name] = _relation(name, json.loads(text))
            elif kind == "unfolded":
                self.unfolded[name] = tuple(json.loads(text))
            elif kind == "view" and name not in self.views:
                self.views[name] = _recompiled(name, json.loads(text))

    def program(self) -> Merged:
        """The programs of all views as one; made again only when there is another view."""
        key = tuple(self.views)
        if key not in self._merged:
            self._merged.clear()
            self._merged[key] = merged(tuple(view.planned for view in self.views.values()))
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
        program = view.planned.program
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
    """The term of a view. Raises QueryError for what is none."""
    query = getattr(view, "query", None)
    if not isinstance(query, Query):
        raise QueryError("not a view", wanted="a function with @view", got=type(view).__name__)
    return query


def relation_meta(r: Relation) -> dict[str, str]:
    """How a relation is stored with the state."""
    stored = {"row": type_to_json(r.row), "key": r.key, "immutable": r.immutable, "arrays": r.arrays}
    return {f"relation:{r.name}": json.dumps(stored)}


def _relation(name: str, stored: Mapping[str, Any]) -> Relation:
    # A state from before relations could say what is immutable says nothing of it.
    key, immutable, arrays = (tuple(stored.get(what, ())) for what in ("key", "immutable", "arrays"))
    return Relation(name, type_from_json(stored["row"]), key, immutable, arrays)


def _recompiled(name: str, stored: Mapping[str, object]) -> Kept:
    kept = compiled(query_from_json(str(stored["query"])), OPTIONS.structure(stored.get("options", {}), Options))
    if kept.fingerprint != stored["program"]:
        raise ViewChanged(
            f"this version of the compiler makes another program of {name}", where=f"view {name}",
            wanted=str(stored["program"])[:16], got=kept.fingerprint[:16],
            possible=["the version of ripplenest that built the state", "a new state directory"],
        )  # fmt: skip
    return kept
