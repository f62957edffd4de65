"""What is kept: a view is created, rebuilt, replaced; a view or a relation is dropped; a relation gets other fields.
Each is one commit.

Theory of operation. A view has stored maps of its own, and others that it may share with other views: auxiliary maps,
and groups. Defining it compares the maps that it wants with those that are stored: what is equal, by digest, and right
for this version is kept as it is; the rest is built by ordinary queries, and what nobody has any more is dropped. Names
are had again at once: versions that are kept keep the tables of the names that they knew (``store/database/chain.py``),
and ``past`` says what a view showed then, so that nothing is lost before the versions that have it are.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from ripplenest.nrc.assumed import became, followed, shown
from ripplenest.nrc.errors import NameTaken, QueryError, StateError, UnknownView
from ripplenest.nrc.renaming import with_relation
from ripplenest.nrc.syntax import Assumed, Query
from ripplenest.nrc.types import Type
from ripplenest.plan.planned import Plan
from ripplenest.run.build import build
from ripplenest.run.engines import Engines
from ripplenest.run.joiner import Joiner
from ripplenest.run.policy import Work
from ripplenest.schema.altered import Altered
from ripplenest.schema.relation import keys_of, unique_columns
from ripplenest.state.declared import Declared, Past, Was
from ripplenest.state.notes import Key, Kind, meta_key, note
from ripplenest.state.state import State
from ripplenest.state.stored import StoredPast, StoredWas, relation_text, stored_shape, write
from ripplenest.state.tasks import Builds, Pending, is_by_tasks
from ripplenest.state.views import OTHER_PROGRAM, Kept, Waiting, compiled, stored_text
from ripplenest.store.layouts import grown
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.staging import Staging
from ripplenest.version.folding import Unfolding, unfolded

Meta = dict[str, str | None]


@frozen
class Definitions:
    """Definitions of one state, whose maps its engines build: on Spark, what is not little by ``builds``, so that it
    stays where tasks write it."""

    state: State
    engines: Engines
    builds: Callable[[], Builds] | None = None

    @property
    def _declared(self) -> Declared:
        return self.state.declared

    # ------------------------------------------------------------ views

    def create(self, view: Kept, snapshot: Unfolding) -> None:
        """Keep a view that there was not. Raises NameTaken."""
        self._declared.check_free((view.name,), ())
        self._define(view, None, snapshot, "create")

    def rebuild(self, waiting: Waiting, snapshot: Unfolding) -> int:
        """Keep a waiting view fresh again, by this compiler's program. Returns the version. Raises QueryError when it
        makes none."""
        if not isinstance(waiting.made, Kept):
            raise waiting.made
        return self._define(waiting.made, waiting, snapshot, "rebuild")

    def replace(self, view: Kept, snapshot: Unfolding) -> int:
        """Keep ``view`` in place of the one of its name. Returns the version."""
        old = self._known(view.name)
        return self._define(view, old, snapshot, "replace")

    def remove(self, name: str, snapshot: Unfolding) -> int:
        """Keep a view or relation no longer, which is published nowhere. Returns the version. Raises StateError when
        something reads it, UnknownView when there is none."""
        declared = self._declared
        if name in declared.relations:
            if readers := declared.readers(name):
                possible = [f"drop({reader!r}) first" for reader in readers]
                raise StateError("views read the relation", where=f"drop {name}", got=readers, possible=possible)
            tables = {*declared.relations[name].parts, *(f.table for f in declared.folds if f.relation.name == name)}
            undeclared: Meta = {meta_key("relation", name): None, meta_key("unfolded", name): None}
            meta = {**undeclared, **self._was(name, snapshot)}
        else:
            old = self._known(name)
            tables = self._owned(old) - self._used(name)
            meta = {meta_key("view", name): None, meta_key("behind", name): None, **self._past(old, snapshot)}
        stored = self.state.store.tables()
        dropped = tuple(sorted(tables & stored.keys()))
        return self.state.commit(Change(dropped=dropped, meta=meta, note=note("drop", name=name)), snapshot.version)

    # ------------------------------------------------------------ relations

    def alter(self, wanted: Altered, what: str, snapshot: Unfolding, check: Callable[[Kept], None]) -> int:
        """Give a relation other fields, and its views the type that it has then. Returns the version.

        Stored rows stay. A view whose maps are functions of the same columns stays fresh; the others wait. Raises
        StateError when a view does not fit the new fields, and what ``check`` says of it as it will be.

        Older versions show the fields, too; so the dictionary of a bag that came is without rows in all that have the
        relation.
        """
        r, declared = wanted.relation, self._declared
        own = [v for v in declared.every if r.name in v.relations]
        _check_assumed([v.query for v in own], r.name, declared.relations[r.name].row, r.row)
        views = {v.name: self._refitted(v, wanted, check) for v in own}
        meta: Meta = {meta_key("relation", r.name): relation_text(r)}
        meta.update({meta_key("view", name): text for name, text in views.items()})
        old = declared.relations[r.name]
        inside = [f for f in declared.folded if f.relation.name == r.name]
        folds = [f for f in inside if not wanted.parts.keys().isdisjoint(f.parts)]
        rows, came = unfolded(folds, snapshot), wanted.tables(old)
        change = Change(
            {table: grown(found, wanted.parts.get(table)) for table, found in rows.items()},
            came,
            wanted.access_keys(old),
            meta={**meta, **declared.unfolding(folds)},
            note=note("alter", name=r.name, what=what),
            merged=tuple(fold.table for fold in folds),
            reshaped=wanted.parts,
            beside={spec.name: r.name for spec in came},
        )
        return self.state.commit(change, snapshot.version)

    def _refitted(self, view: Kept | Waiting, wanted: Altered, check: Callable[[Kept], None]) -> str:
        """How a view of the relation is declared then: with the maps that it has."""
        r, options, declared = wanted.relation, view.options, self._declared
        old = declared.relations[r.name].row
        try:
            query = with_relation(view.query, r.name, r.row, wanted.renamed)
            query = evolve(query, assumes=followed(query.assumes, r.name, old, r.row))
            relations = [{**declared.relations, r.name: r}[name] for name, _ in query.relations]
            if options.keys:  # fields of them may be renamed; a view that was made without stays so
                options = evolve(options, keys=unique_columns(relations))
            made = compiled(evolve(query, keys=keys_of(relations)), options)
        except QueryError as error:
            what, possible = f"the view {view.name} does not fit the new fields: {error.what}", ["drop it first"]
            where, wanted_, got = f"relation {r.name}", error.wanted, error.got
            raise StateError(what, where=where, wanted=wanted_, got=got, possible=possible) from error
        check(made)
        if isinstance(view, Kept) and made.maps == view.maps:
            return made.text
        return stored_text(made.query, OTHER_PROGRAM, options, view.maps, view.shape)

    def _known(self, name: str) -> Kept | Waiting:
        declared = self._declared
        found = declared.view(name)
        if found is None:
            possible = [*(view.name for view in declared.every), *declared.relations]
            raise UnknownView("there is no such view or relation", got=name, possible=possible)
        return found

    def _define(self, view: Kept, old: Kept | Waiting | None, snapshot: Unfolding, kind: Kind) -> int:
        """Build the maps of ``view`` that are not stored and right, drop those of ``old`` that nobody has any more, and
        commit that with the definition."""
        stored = self.state.tables(snapshot.version)
        kept = self._reusable(view, old, stored)
        fresh = {m.name: m for m in view.plan.maps if m.name not in kept}
        dropped = (set() if old is None else self._owned(old) - self._used(view.name) - kept) & stored.keys()
        dropped |= {name for name in fresh if name in stored and name in view.plan.shared} - self._of_relations()
        taken = [name for name in fresh if name in stored and name not in dropped]
        if taken:
            raise NameTaken("the name is in use", where=taken[0], possible=["another name"])
        indexes, orders, unfold = view.plan.indexes, view.plan.orderings, self._declared.looked_into(view)
        plan = view.plan.only(fresh)
        work = Work(plan, lambda t: snapshot.size(t) if t in stored else 0, {}).full()
        engine = self.engines.choose(work)
        change = Change(
            unfolded(unfold, snapshot),
            tuple(TableSpec(n, m.types, indexes.get(n, ()), orders.get(n, ())) for n, m in fresh.items()),
            {table: found for table, found in indexes.items() if table not in fresh},
            {**self._meta(view, old, snapshot), **self._declared.unfolding(unfold)},
            note=note(kind, name=view.name, built=sorted(fresh), kept=sorted(kept), **engine.facts),
            merged=tuple(fold.table for fold in unfold),
            dropped=tuple(sorted(dropped)),
            ordered={table: found for table, found in orders.items() if table not in fresh},
        )
        builds = self.builds if is_by_tasks(engine, work) else None
        version = self._built(change, plan, snapshot, engine.joiner, builds)
        self._declared.know(view)
        return version

    def _built(
        self, change: Change, plan: Plan, snapshot: Unfolding, joiner: Joiner, builds: Callable[[], Builds] | None
    ) -> int:
        """Commit ``change`` with the maps of ``plan``, which the ``joiner`` joins, or those who do ``builds``."""
        if builds is None:
            made = build(plan, snapshot, joiner)
            return self.state.commit(evolve(change, deltas={**made, **change.deltas}), snapshot.version)
        store, specs = self.state.store, {spec.name: spec for spec in change.tables}
        with Staging.begin(store.path) as staging:
            found = builds().build(plan, Pending(snapshot, made=specs), staging, store.reserved())
            return self.state.commit(evolve(change, written=found.written), snapshot.version)

    def _reusable(self, view: Kept, old: Kept | Waiting | None, stored: Mapping[str, TableSpec]) -> set[str]:
        """The maps of ``view`` that are stored as it wants them: those that batches keep fresh for others, too, and
        maps of ``old`` with the digests of ``view`` unless batches have left them behind."""
        others = {m for v in self._declared.views.values() if v.name != view.name for m in v.plan.shared}
        own: Mapping[str, str] = {}
        if isinstance(old, Kept) or (old is not None and old.behind is None):
            own = old.maps
        found = {name for name, digest in view.maps.items() if name in others or own.get(name) == digest}
        return {name for name in found if name in stored and stored[name].types == view.plan.by_name[name].types}

    def _owned(self, view: Kept | Waiting) -> set[str]:
        """The stored maps of a view, also those that it shares."""
        if isinstance(view, Kept):
            return set(view.maps)
        return {table for table in self.state.store.tables() if view.owns(table)} - self._of_relations()

    def _of_relations(self) -> set[str]:
        """The stored parts of relations, which may have names of maps in states from before these were reserved."""
        return {part for r in self._declared.relations.values() for part in r.parts}

    def _used(self, without: str) -> set[str]:
        """The maps of all views but one."""
        return {m for view in self._declared.every if view.name != without for m in self._owned(view)}

    def _meta(self, view: Kept, old: Kept | Waiting | None, snapshot: Unfolding) -> Meta:
        same = old is not None and old.shape == view.shape and old.shape.shown == view.shape.shown
        past = {} if old is None or same else self._past(old, snapshot)
        return {meta_key("view", view.name): view.text, meta_key("behind", view.name): None, **past}

    def _was(self, name: str, snapshot: Unfolding) -> Meta:
        """How a relation is declared until now, for the versions that are kept."""
        died, declared = snapshot.version + 1, relation_text(self._declared.relations[name])
        return {**self._ended("was", self._declared.was), **_ends("was", StoredWas(name, died, declared))}

    def _past(self, old: Kept | Waiting, snapshot: Unfolding) -> Meta:
        """What a view shows until now, for the versions that are kept."""
        gone = self._ended("past", self._declared.past)
        if old.shape is None:
            return gone
        shape = stored_shape(old.shape)
        return {**gone, **_ends("past", StoredPast(old.name, snapshot.version + 1, old.shape.fingerprint, shape))}

    def _ended(self, key: Key, known: Mapping[str, Past | Was]) -> Meta:
        """What is forgotten, as no version that has it is kept."""
        return {meta_key(key, name): None for name, x in known.items() if x.died <= self.state.store.oldest}


def _ends(key: Key, stored: StoredPast | StoredWas) -> Meta:
    """What something was until it ``died``."""
    return {meta_key(key, f"{stored.died:012d}:{stored.name}"): write(stored)}


def _check_assumed(queries: Sequence[Query], relation: str, old: Type, new: Type) -> None:
    """Raises StateError where sources take for granted what is no longer so in ``new`` rows: their terms would go on
    without what they say of that."""
    for path, what in became(old, new):
        names = [q.name for q in queries if Assumed(relation, path, what) in q.assumes]
        if names:
            views, of = ", ".join(names), shown(relation, path)
            where = f"relation {relation}, views that are kept of it: {views}"
            said = f"rows of {of} have other fields" if what == "fields" else f"{of} may be NULL"
            wrong = f"these views would mean something else where {said}, and do not say so by themselves"
            drops = "; ".join(f"db.drop({name!r})" for name in names)
            raise StateError(wrong, where=where, possible=[f"{drops} first, and db.create(...) after it"])
