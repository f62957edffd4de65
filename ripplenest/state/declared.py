"""What a database has declared: its relations, and its views with the plans that keep them fresh.

Both are stored with the state as data; a process that opens the state compiles the views again, all of them when the
first is asked for: who reads rows needs none (``unread.py``). A view of which this compiler makes another program than
the one that its maps are of *waits*: it is readable as it is, batches say that it waits, and it is rebuilt in one
commit (``define.py``).
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from attrs import evolve, field, frozen

from ripplenest.data.rows import Rows
from ripplenest.delta.judge import check_strict
from ripplenest.errors import RelationChanged, ViewChanged
from ripplenest.nrc.errors import NameTaken, UnknownRelation
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.surface.same import differing, same_view
from ripplenest.nrc.syntax import Query
from ripplenest.plan.planned import Plan, merged
from ripplenest.run.coming import comes_or_goes
from ripplenest.schema.differing import other_rows
from ripplenest.schema.relation import Relation, keys_of
from ripplenest.schema.shape import OutputShape
from ripplenest.state.notes import Key, meta_key, named
from ripplenest.state.stored import StoredPast, StoredWas, read, relation_of, shape_of_stored
from ripplenest.state.unread import Readable, Unread, readable
from ripplenest.state.views import Kept, Waiting, compiled, view_of
from ripplenest.store.specs import TableSpec
from ripplenest.version.folding import Fold
from ripplenest.version.version import AccessKeys, Orders, Sized


@frozen
class Past:
    """What view ``name`` showed until version ``died``, when it was dropped or defined anew."""

    name: str
    died: int
    shape: OutputShape


@frozen
class Was:
    """How relation ``name`` was declared until version ``died``, when it was dropped."""

    name: str
    died: int
    relation: Relation

    def is_like(self, r: Relation) -> bool:
        """Whether ``r`` is declared as it was, so that it can be read as ``r``. What its rows had no value for is said
        by the stored tables."""
        return evolve(self.relation, fills=()) == evolve(r, fills=())


@frozen
class Declared:
    """The relations and views by name, those that wait, what views were before, and which bags of a relation that could
    be arrays are shredded. ``_pending`` are views that nobody has asked for yet: how each is declared, and
    the last version that it shows if it is behind."""

    relations: dict[str, Relation] = field(factory=dict)
    past: dict[str, Past] = field(factory=dict)
    was: dict[str, Was] = field(factory=dict)
    unfolded: dict[str, tuple[str, ...]] = field(factory=dict)
    _views: dict[str, Kept] = field(factory=dict)
    _waiting: dict[str, Waiting] = field(factory=dict)
    _pending: dict[str, Unread] = field(factory=dict)
    _readable: dict[str, Readable | None] = field(factory=dict)
    _texts: dict[tuple[Key, str], str] = field(factory=dict)
    _read: list[Mapping[str, str]] = field(factory=list)
    _merged: dict[tuple[str, ...], Plan] = field(factory=dict)
    _indexed: list[Plan] = field(factory=list)

    @property
    def views(self) -> dict[str, Kept]:
        """The views that are kept fresh, by name. Raises CorruptState for what is no declaration."""
        self._compile_pending()
        return self._views

    @property
    def waiting(self) -> dict[str, Waiting]:
        """Those that wait to be rebuilt. Raises CorruptState."""
        self._compile_pending()
        return self._waiting

    def _compile_pending(self) -> None:
        """All at once and in their order: whether a view waits may depend on those before it (``_apart``)."""
        for name, unread in [*self._pending.items()]:
            self._put(self._apart(view_of(name, unread.stored, unread.behind)))
            del self._pending[name]

    def read(self, meta: Mapping[str, str]) -> None:
        """Take in what the state declares: what is new, what is declared anew, and what is no longer. Raises
        CorruptState for what is no declaration."""
        if self._read and self._read[0] is meta:
            return
        found = _declarations(meta)
        self._readable.clear()
        for kind, name in [key for key, text in self._texts.items() if found.get(key) != text]:
            self._forget(kind, name)
        for kind, name in [key for key in found if key not in self._texts]:
            self._take(kind, name, meta)
            self._texts[kind, name] = found[kind, name]
        self._read[:] = [meta]

    def _forget(self, kind: Key, name: str) -> None:
        del self._texts[kind, name]
        match kind:
            case "relation":
                del self.relations[name]
            case "view":
                for known in (self._pending, self._views, self._waiting):
                    known.pop(name, None)
            case "unfolded":
                del self.unfolded[name]
            case "past":
                del self.past[name]
            case "was":
                del self.was[name]
            case _:
                raise AssertionError(f"{kind} is no declaration of its own")

    def _take(self, kind: Key, name: str, meta: Mapping[str, str]) -> None:
        text = meta[meta_key(kind, name)]
        match kind:
            case "relation":
                self.relations[name] = relation_of(name, text)
            case "view":
                behind = meta.get(meta_key("behind", name))
                self._pending[name] = Unread(name, text, int(behind) if behind else None)
            case "unfolded":
                self.unfolded[name] = read(f"unfolded:{name}", text, tuple[str, ...])
            case "past":
                self.past[name] = _past(name, text)
            case "was":
                self.was[name] = _was(name, text)
            case _:
                raise AssertionError(f"{kind} is no declaration of its own")

    def _apart(self, view: Kept | Waiting) -> Kept | Waiting:
        """``view``, which waits when the state has something else under the name of one of its maps: the rows there are
        not those of the map. No state can come to that since names are reserved."""
        others = {part: f"relation {r.name}" for r in self.relations.values() for part in r.parts}
        for known in self._views.values():
            others |= {m: f"view {known.name}" for m in known.maps if m not in known.plan.shared}
        found = next((m for m in (view.maps if isinstance(view, Kept) else ()) if m in others), None)
        if found is None or not isinstance(view, Kept):
            return view
        why = f"{others[found]} has the name of its map {found}"
        return Waiting(view.name, why, view.query, view.options, {}, None, view, None)

    def know(self, view: Kept) -> None:
        """``view`` was committed as what there is under its name, and need not be compiled again."""
        self._compile_pending()
        self._put(view)
        self._texts["view", view.name] = view.text

    def _put(self, view: Kept | Waiting) -> None:
        self._views.pop(view.name, None)
        self._waiting.pop(view.name, None)
        match view:
            case Kept():
                self._views[view.name] = view
            case Waiting():
                self._waiting[view.name] = view

    def plan(self) -> Plan:
        """The plans of all views that are kept fresh as one; made again only when these are others."""
        key = tuple(view.fingerprint for view in self.views.values())
        if key not in self._merged:
            self._merged.clear()
            self._merged[key] = merged([view.plan for view in self.views.values()])
        return self._merged[key]

    def missing(self, known: AccessKeys, tables: Callable[[], Mapping[str, TableSpec]]) -> tuple[AccessKeys, Orders]:
        """By table, the access keys that the plans of views need and are not ``known``, and the orders that ``tables``
        do not have; asked once for each plan, as what has come stays. A state without orders gets none of itself:
        releases that know none could not open it any more.
        """
        plan = self.plan()
        if self._indexed and self._indexed[0] is plan:
            return {}, {}
        keys = _absent(plan.indexes, known)
        ordered = {name: spec.ordered for name, spec in tables().items()}
        orders = _absent(plan.orderings, ordered) if any(ordered.values()) else {}
        self._indexed[:] = [] if keys or orders else [plan]
        return keys, orders

    def waits_for(self, parts: Collection[str]) -> list[Waiting]:
        """The waiting views that read one of the changed ``parts``."""
        changed = {name for name, r in self.relations.items() if not r.parts.keys().isdisjoint(parts)}
        return [view for view in self.waiting.values() if view.relations & changed]

    def left_behind(self, parts: Collection[str], version: int) -> dict[str, str | None]:
        """The meta values that say which waiting views are right for ``version`` and for none after it, when the next
        one changes ``parts``. Whichever release opens the state must know it: its own program may be that of the maps.
        """
        behind = (view for view in self.waits_for(parts) if view.behind is None)
        return {meta_key("behind", view.name): str(version) for view in behind}

    @property
    def every(self) -> tuple[Kept | Waiting, ...]:
        """All views, those that wait last."""
        return (*self.views.values(), *self.waiting.values())

    def readers(self, relation: str) -> list[str]:
        """The views that read a relation."""
        return [view.name for view in self.every if relation in view.relations]

    def shape_at(self, name: str, version: int | None) -> OutputShape | None:
        """What the view ``name`` showed at ``version``, or shows now; None where nothing is known of it."""
        ended = [p for p in self.past.values() if p.name == name and version is not None and version < p.died]
        if ended:
            return min(ended, key=lambda p: p.died).shape
        unread = self.readable(name)
        if unread is not None:
            return unread.shape
        if name in self.views:
            return self.views[name].shape
        return self.waiting[name].shape if name in self.waiting else None

    def readable(self, name: str) -> Readable | None:
        """What the view ``name`` shows, as the state says it. None for one that has to be compiled to be read, or has
        been: then there is more to be said of it."""
        if name not in self._pending or self._views or self._waiting:
            return None
        if name not in self._readable:
            self._readable[name] = readable(name, self._pending, self.relations)
        return self._readable[name]

    def left(self, name: str) -> str:
        """That batches have left the view ``name`` behind, since which version and why; "" where they have not."""
        known = self.readable(name)
        found = None if known is not None and known.behind is None else self.view(name)
        if not isinstance(found, Waiting) or found.behind is None:
            return ""
        return f"view {part(name)} waits to be rebuilt, and shows the rows of version {found.behind}: {found.why}"

    def has_view(self, name: str) -> bool:
        """Whether there is a view of this name."""
        return name in self._pending or self.view(name) is not None

    def owner(self, name: str, version: int) -> Past | Was | None:
        """The view or relation that had a name at ``version``, and has it no longer, or not as it was."""
        every: tuple[Past | Was, ...] = (*self.past.values(), *self.was.values())
        ended = [x for x in every if x.name == name and version < x.died]
        return min(ended, key=lambda x: x.died) if ended else None

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The inner bags that can be arrays."""
        return tuple(Fold(r, root) for r in self.relations.values() for root in r.arrays)

    def folds_at(self, version: int) -> tuple[Fold, ...]:
        """Those that could be at ``version``."""
        return tuple(Fold(r, root) for r in self.relations_at(version) for root in r.arrays)

    def relations_at(self, version: int) -> tuple[Relation, ...]:
        """The relations that had rows at ``version`` or have some now, as they are declared now, and those that were
        dropped since, as they were then."""
        names = {w.name for w in self.was.values() if version < w.died}
        owners = [self.owner(name, version) for name in sorted(names)]
        then = {owner.name: owner.relation for owner in owners if isinstance(owner, Was)}
        return (*(r for name, r in self.relations.items() if name not in then), *then.values())

    @property
    def folded(self) -> tuple[Fold, ...]:
        """Those that are."""
        return tuple(f for f in self.folds if f.root not in self.unfolded.get(f.relation.name, ()))

    def looked_into(self, view: Kept) -> tuple[Fold, ...]:
        """The folded bags that a view reads."""
        read = {name for m in view.program.maps for name in m.reads}
        return tuple(f for f in self.folded if read & f.parts.keys())

    def unfolding(self, folds: Iterable[Fold]) -> dict[str, str]:
        """How it is stored that ``folds`` are arrays no longer."""
        found = dict(self.unfolded)
        for f in folds:
            found[f.relation.name] = (*found.get(f.relation.name, ()), f.root)
        return {f"unfolded:{name}": json.dumps(roots) for name, roots in found.items()}

    def check_unchanged(self, used: Mapping[str, Relation]) -> None:
        """Raises RelationChanged when rows were read for a relation that has been declared otherwise since."""
        for name, r in used.items():
            if self.relations.get(name) != r:
                what = "the relation was declared anew by another object, and rows were read for it as it was"
                raise RelationChanged(what, where=f"relation {name}", possible=["the same batch or load again"])

    def check_strict(self, changes: Mapping[str, Rows]) -> None:
        """Raises NotIncremental when a trigger for one of the changed parts does not cost what the change costs."""
        for view in self.views.values():
            check_strict(view.query, view.judgement, changes, partial(comes_or_goes, view.program.parts, changes))

    def check_free(self, names: Iterable[str], tables: Collection[str]) -> None:
        """``names`` are a relation or a view and what is stored under it. Raises NameTaken."""
        for name in names:
            if name in self.relations or name in self.views or name in self.waiting or name in tables:
                raise NameTaken("the name is in use", where=name, possible=["another name"])

    def fitted(self, query: Query) -> Query:
        """``query`` over the relations as they are declared, with the keys that their labels are made of. Raises
        UnknownRelation or TypeMismatch when it reads what is not declared so."""
        for name, row in query.relations:
            if name not in self.relations:
                what = "the view reads a relation that is not declared"
                possible = [f"relation({name!r}, ...) first", *self.relations]
                raise UnknownRelation(what, where=f"view {query.name}", got=name, possible=possible)
            declared = self.relations[name].row
            if declared != row:
                raise other_rows(query.name, name, declared, row)
        return evolve(query, keys=keys_of(self.relations[name] for name, _ in query.relations))

    def view(self, name: str) -> Kept | Waiting | None:
        """The view of this name."""
        return self.views.get(name) or self.waiting.get(name)

    def rows_read(self, view: Kept | Waiting, tables: Sized) -> int:
        """How many rows the relations of a view have."""
        found = (self.relations[name] for name in view.relations if name in self.relations)
        return sum(tables.size(part) for r in found for part in r.parts)

    def check_term(self, known: Waiting, query: Query, materialize: str | None) -> None:
        """Raises ViewChanged when ``query`` is another definition than that of the waiting view of its name."""
        _check_materialize(known, materialize)
        if not same_view(known.query, query):
            raise _other_definition(known.query, query)

    def check_same(self, query: Query, materialize: str | None) -> None:
        """Raises ViewChanged when the view of this name has another definition, or was not created with
        ``materialize``."""
        known = self.views[query.name]
        _check_materialize(known, materialize)
        if not same_view(known.query, query) and known.fingerprint != compiled(query, known.options).fingerprint:
            raise _other_definition(known.query, query)


def _check_materialize(known: Kept | Waiting, materialize: str | None) -> None:
    if materialize not in (None, known.options.materialize):
        raise ViewChanged(
            "the view is kept with other maps",
            where=f"view {known.name}",
            wanted=f"materialize={known.options.materialize!r}",
            got=materialize,
            possible=["create without materialize", "replace", "another name"],
        )


def _other_definition(known: Query, query: Query) -> ViewChanged:
    (wanted, got), name = differing(known, query), query.name
    what, possible = f"the state was built by another definition of {name}", ["replace", "another name"]
    return ViewChanged(what, where=f"view {name}", wanted=wanted, got=got, possible=possible)


def _declarations(meta: Mapping[str, str]) -> dict[tuple[Key, str], str]:
    """What is declared, by kind and name, in the order in which it can be read; of a view also whether it is behind."""
    found: dict[tuple[Key, str], str] = {}
    kinds: tuple[Key, ...] = ("relation", "unfolded", "past", "was", "view")
    for kind in kinds:
        found.update({(kind, name): text for name, text in named(meta, kind).items()})
    for name, version in named(meta, "behind").items():
        if ("view", name) in found:
            found["view", name] += f" {version}"
    return found


def _was(name: str, text: str) -> Was:
    stored = read(f"was:{name}", text, StoredWas)
    return Was(stored.name, stored.died, relation_of(stored.name, stored.declared))


def _past(name: str, text: str) -> Past:
    stored = read(f"past:{name}", text, StoredPast)
    return Past(stored.name, stored.died, shape_of_stored(stored.name, stored.program, stored.shape))


T = TypeVar("T")


def _absent(wanted: Mapping[str, Sequence[T]], known: Mapping[str, Sequence[T]]) -> dict[str, tuple[T, ...]]:
    found = {t: tuple(x for x in own if x not in known.get(t, ())) for t, own in wanted.items()}
    return {table: own for table, own in found.items() if own}
