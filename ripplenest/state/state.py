"""The state as a process sees it: a version of the store together with what that version declares."""

import contextlib
from collections.abc import Mapping

from attrs import field, frozen

from ripplenest.data.columns import base_types
from ripplenest.data.room import Room
from ripplenest.errors import NotKept, Stale
from ripplenest.nrc.arguments import moment
from ripplenest.nrc.errors import StateError, UnknownView
from ripplenest.schema.relation import Relation, find_relation
from ripplenest.schema.shape import OutputShape, shape_of_relation, with_inputs
from ripplenest.state.declared import Declared, Past, Was
from ripplenest.state.notes import LOADS, note, rollbacks
from ripplenest.state.views import Waiting
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Change, Standing, TableSpec, same_columns
from ripplenest.store.store import Store
from ripplenest.version.folding import Unfolding
from ripplenest.version.overlay import Overlay
from ripplenest.version.version import AccessKeys, AsOf, Orders

NO_META: Mapping[str, str] = {}
NO_ORDERS: Orders = {}


@frozen
class Shown:
    """A view or relation as it is read: its shape, and the tables of the version that shows it."""

    shape: OutputShape
    tables: Unfolding


@frozen
class State:
    """A store, and the relations and views that it declares, which other objects may add to."""

    store: Store
    declared: Declared = field(factory=Declared)

    @property
    def room(self) -> Room:
        """The memory that work on it may take."""
        return self.store.room

    def snapshot(self, as_of: AsOf | None = None) -> Unfolding:
        """The newest version with everything that it declares known, or an older one.

        What is known is never less than what the snapshot declares: a batch must keep every view fresh. Raises
        StateError for a version that is not kept, or a batch that was not applied.
        """
        return self.read(self.store.snapshot(self.version_of(as_of)))

    def begin(self, source: str, seq: int | None) -> tuple[Unfolding, Standing]:
        """The newest version, and how far ``source`` is in it."""
        found, standing = self.store.begin(source, seq)
        return self.read(found), standing

    def sources(self) -> dict[str, int]:
        """By source of batches, the last seq that was applied. What was loaded is no batch."""
        return {s: seq for s, seq in sorted(self.store.last_seqs().items()) if not s.startswith(LOADS)}

    def read(self, found: Snapshot) -> Unfolding:
        """``found`` with everything that it declares known."""
        self.declared.read(found.meta)
        return Unfolding(found, self.declared.folds_at(found.version))

    def refresh(self) -> int:
        """Read what was declared since, here or by another object; the version that declares it."""
        return self.snapshot().version

    def version_of(self, as_of: AsOf | None) -> int | None:
        """The version that ``as_of`` means; None for the newest. Raises StateError."""
        if as_of is None:
            return None
        match moment(as_of, "as_of"):
            case (source, seq):
                applied = self.store.applied(source, seq)
                if applied is None:
                    raise StateError("no such batch was applied", where=str(self.store.path), got=f"{source}:{seq}")
                return applied.version
            case version:
                return version

    def relation(self, name: str, as_of: AsOf | None = None) -> Shown:
        """The relation ``name`` at ``as_of``. Raises UnknownRelation, and StateError for a version in which it was
        declared otherwise, or something else had the name."""
        found = self.store.snapshot(self.version_of(as_of))
        tables = self.read(found)
        r = find_relation(self.declared.relations, name)
        self.check_same(r, found)
        return Shown(shape_of_relation(r), tables)

    def check_then(self, name: str, version: int) -> None:
        """Raises StateError when what has this name now is not what had it at ``version``."""
        r = self.declared.relations.get(name)
        if r is None:
            self._check_view(name, version)
        else:
            self.check_same(r, self.store.snapshot(version))

    def _check_view(self, name: str, version: int) -> None:
        if isinstance(self.declared.owner(name, version), Was):
            what, possible = "a relation had the name of the view then", ["a later version"]
            raise StateError(what, where=f"view {name}", got=f"version {version}", possible=possible)

    def check_same(self, r: Relation, tables: Snapshot) -> None:
        """Raises StateError when something else had the name of relation ``r`` at the version of ``tables``, or it was
        declared otherwise, and dropped since: its rows are not rows of ``r``."""
        version = tables.version
        owner = self.declared.owner(r.name, version)
        if isinstance(owner, Was) and owner.is_like(r):
            return
        if owner is None and not any(tables.is_gone(part) for part in r.parts):
            return
        what, possible = "the relation was dropped since, and is declared otherwise now", "a declaration as it was then"
        if isinstance(owner, Past):
            what, possible = "a view had the name of the relation then", f"view({r.name!r}, as_of={version})"
        got = f"version {version}"
        raise StateError(what, where=f"relation {r.name}", got=got, possible=[possible, "a later version"])

    def either(self, name: str, as_of: AsOf | None = None) -> Shown:
        """The relation or view that is called so now, or was the last to be."""
        self.refresh()
        return self.relation(name, as_of) if name in self.declared.relations else self.shown(name, as_of)

    def shown(self, name: str, as_of: AsOf | None = None) -> Shown:
        """The view ``name`` at ``as_of``: what it is called now, also where it was defined otherwise then.

        A view that waits is shown as it is in the last version that its maps are right for. Raises UnknownView, and
        StateError for a version that does not show it.
        """
        tables = self.snapshot(as_of)
        self._check_view(name, tables.version)
        shape = self.declared.shape_at(name, None if as_of is None else tables.version)
        if shape is not None and self._needs_no_program(shape, tables.version):
            return Shown(shape, tables)
        waiting = self.declared.waiting.get(name)
        if shape is not None and (waiting is None or shape != waiting.shape):
            return self._as_it_was(shape, tables)
        if waiting is None:
            raise UnknownView("there is no such view", got=name, possible=[v.name for v in self.declared.every])
        if waiting.behind is not None and tables.version > waiting.behind:
            tables = self._behind(waiting, waiting.behind, as_of)
        if shape is None or self._misfit(shape, tables.version) is not None:
            raise _waits(waiting, "its maps are not those of this release")
        return Shown(shape, tables)

    def _needs_no_program(self, shape: OutputShape, version: int) -> bool:
        """Whether what the state says of a view is all that it takes to read ``shape``."""
        known = self.declared.readable(shape.name)
        return known is not None and known.shows(shape, version) and self._misfit(shape, version) is None

    def _behind(self, view: Waiting, last: int, as_of: AsOf | None) -> Unfolding:
        if as_of is not None:
            raise _waits(view, f"it was not kept fresh after version {last}", f"as_of({last})")
        try:
            return self.snapshot(last)
        except NotKept as gone:
            raise _waits(view, f"version {last}, the last that it shows, is no longer kept") from gone

    def _as_it_was(self, shape: OutputShape, tables: Unfolding) -> Shown:
        """What a view that does not wait shows now, or showed before it was dropped or replaced: bags that it passed on
        with the fields that their rows have by now, as relations do. Raises StateError where their labels are others,
        as those of a wider key, or rows of the view's own have their place, as those that an outer join has not. Who
        reads a version in which there was no view finds no table."""
        now = self.declared.views.get(shape.name)
        if now is None or shape != now.shape:
            shapes = map(shape_of_relation, self.declared.relations_at(tables.version))
            shape = with_inputs(shape, {d.site.name: d for own in shapes for d in own.dictionaries}) or shape
            table = self._misfit(shape, tables.version)
            if table is not None and shape.flat.table in self.store.snapshot(tables.version).tables:
                what = "what the view passed on has other columns now"
                raise StateError(what, where=f"view {shape.name}", got=table, possible=["the relation at this version"])
        return Shown(shape, tables)

    def _misfit(self, shape: OutputShape, version: int) -> str | None:
        """A table of ``shape`` that is not there, or not with its columns."""
        tables = self.store.snapshot(version).tables
        wanted = {shape.flat.table: shape.flat.row, **{d.table: d.stored for d in shape.dictionaries}}
        return next(
            (t for t, row in wanted.items() if t not in tables or not same_columns(tables[t].types, base_types(row))),
            None,
        )

    def overlay(self, snapshot: Unfolding) -> Overlay:
        """``snapshot`` for operations to read and to change."""
        types = {p.name: p.types for r in self.declared.relations.values() for p in r.parts.values()}
        return Overlay(snapshot, types)

    def commit(self, change: Change, parent: int) -> int:
        """``parent`` is the version that the change was computed from; raises Stale when there is another by now."""
        return self.store.commit(change, parent)

    def note(self, change: Change) -> int:
        """Commit a change that no rows went into, on top of whatever is the newest version."""
        while True:
            with contextlib.suppress(Stale):
                return self.store.commit(change, self.store.version)

    def index(
        self,
        keys: AccessKeys,
        note: Mapping[str, object],
        meta: Mapping[str, str] = NO_META,
        orders: Orders = NO_ORDERS,
    ) -> None:
        """Give stored tables those of the access ``keys``, and of the ``orders``, that they do not have."""
        known = self.snapshot().access_keys
        asked = {t: found for t, found in keys.items() if t in known}
        ordered = {t: found for t, found in orders.items() if t in known}
        self.note(Change(indexes=asked, ordered=ordered, meta=meta, note=note))

    def check_indexed(self, snapshot: Unfolding) -> None:
        """Whether what views are kept by can be looked up at ``snapshot``, and read in order: an earlier release may
        have looked it up by other columns. Raises Stale when it could not; then it can be in the version that there is
        now."""
        keys, orders = self.declared.missing(snapshot.access_keys, self.store.tables)
        if keys or orders:
            self.index(keys, note("index", tables=sorted({*keys, *orders})), orders=orders)
            raise Stale("access keys were added", got=self.store.version)

    def tables(self, version: int) -> Mapping[str, TableSpec]:
        """Those of ``version``, with all access keys that they have by now. Raises Stale when it is not the newest:
        what another one has made meanwhile is no name in use to who has not seen what it declares."""
        found = self.store.tables()
        if self.store.version != version:
            raise Stale("another commit came first", wanted=version, got=self.store.version)
        return found

    def rollbacks(self) -> list[list[int]]:
        """The rollbacks so far: [their version, the version that they went back to]."""
        return rollbacks(self.store.all_meta())

    def in_force(self, version: int) -> bool:
        """Whether what ``version`` did is part of the newest version, or was rolled back.

        The newest version has what came after the last rollback, and what the version that this went back to has.
        """
        upto = self.store.version
        for at, to in reversed(self.rollbacks()):
            if at <= upto:
                if version > at:
                    break
                upto = to
        return version <= upto


def _waits(view: Waiting, what: str, *possible: str) -> StateError:
    what, possible = f"the view waits to be rebuilt: {what}", ("rebuild", *possible)
    return StateError(what, where=f"view {view.name}", got=view.why, possible=possible)
