"""The database: declared relations, loaded rows, views that are kept fresh, and the batches that change them.

One batch is one version: operations become signed rows (``apply``), the trigger programs of all views turn them into
the changes of their maps (``engine``), or these are recomputed (``policy``), and the store commits all of it together
or nothing (``commits``).
"""

import os
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ripplenest.api.batch import Batch
from ripplenest.api.defining import Defining, named
from ripplenest.api.handles import RelationHandle, ViewHandle
from ripplenest.api.named import CHANGES, SET, Named
from ripplenest.api.sparks import Sparks
from ripplenest.delta.materialize import Materialize
from ripplenest.nrc.arguments import count, flag, kind, moment, one_of, text
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import UnknownRelation, UnknownView, WrongValue
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.publish import Layout, Published, Target
from ripplenest.publish.publications import Publications
from ripplenest.reading.touched import wanted_keys
from ripplenest.reading.verification import Verification
from ripplenest.reading.verify import verify
from ripplenest.run.engines import Engine, Engines
from ripplenest.run.policy import Policy, Work, check_policy
from ripplenest.schema.altered import Altered
from ripplenest.schema.relation import Relation, declare, find_relation
from ripplenest.state.commits import Commits, Recorded
from ripplenest.state.compacting import Compacting
from ripplenest.state.define import Definitions
from ripplenest.state.history import History
from ripplenest.state.notes import note
from ripplenest.state.pieces import Pieces
from ripplenest.state.recomputing import Recomputing
from ripplenest.state.report import Report
from ripplenest.state.state import State
from ripplenest.state.views import HasQuery, Kept
from ripplenest.store.specs import Swept, Usage
from ripplenest.store.store import Store
from ripplenest.version.version import AsOf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ripplenest.nrc.surface.text import Declared

SMALL = 100_000  # rows of relations up to which a view that waits is rebuilt when the state is opened


@public
class Database(Named):
    """State in a directory. Made by ``ripplenest.open``; close it, or use it as a context manager.

    Several may be open on one directory: each call works on the newest version. When another object commits in the
    middle of a batch, a load, ``relation``, ``create``, ``replace``, ``rebuild``, ``drop`` or a change of fields, it is
    computed again, and at last the others wait for it. What raises Stale has changed nothing.
    """

    _instead: ClassVar[Mapping[str, str]] = {
        **CHANGES,
        "set": f"with db.batch() as b: {SET}",
        **dict.fromkeys(("commit", "begin", "transaction"), "with db.batch() as b: ..., which commits when it ends"),
        **dict.fromkeys(("table", "query", "sql", "get", "read"), 'view("...") or relation("...")'),
    }

    def __init__(self, store: Store, spark: "SparkSession | None", engine: Engine, policy: Policy = "auto") -> None:
        self._store, self._policy = store, check_policy(policy)
        self._sparks, self._folder = Sparks(store, spark), str(store.path)
        self._state = State(store)
        self._declared = self._state.declared
        self._engines = Engines(engine, self._sparks.joiner, store.room)
        self._commits = Commits(self._state, self._engines, self._sparks.tasks, self._sparks.builds)
        self._definitions = Definitions(self._state, self._engines, self._sparks.builds)
        self._publications = Publications(self._state)
        self._defining = Defining(self._state, self._commits, self._definitions, self._publications, self._policy)
        self._report: Report | None = None
        self._state.refresh()

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Release the state directory. A Spark session stays, it may be shared."""
        self._store.close()

    def __repr__(self) -> str:
        known = (self._declared.relations, (view.name for view in self._declared.every))
        names = (", ".join(found) or "none" for found in known)
        return "<database: relations {}; views {}>".format(*names)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> int:
        """The newest version; 0 for an empty state."""
        return self._store.version

    @property
    def report(self) -> Report | None:
        """The report of the last batch of this object."""
        return self._report

    @property
    def spark(self) -> "SparkSession":
        """The session in use; a local one is started when none was given."""
        return self._sparks.session

    # ------------------------------------------------------------ what there is

    def relation(
        self,
        name: "str | Declared",
        record: object = None,
        key: str | tuple[str, ...] | None = None,
        immutable: str | tuple[str, ...] = (),
        arrays: bool | str | tuple[str, ...] = True,
        keys: Mapping[str, str | tuple[str, ...]] | None = None,
    ) -> RelationHandle:
        """Declare relation ``name`` with rows of the ``@record`` class, and the fields of its key if it has one.

        A relation of a ``.nrc`` file has all three, ``db.relation(program.relation("M"))``, and instead of a record any
        other annotation of rows will do: ``str``, ``int | None``, ``Bag[str]``. ``immutable`` are paths of inner bags
        (``"orders"``, ``"orders.items"``) that change only with the row that holds them; they are stored as arrays
        until a view looks into them. ``arrays`` are those of them that may be: all, or none with ``False``; views have
        the same rows either way. ``keys`` are the keys of the rows of inner bags, by path: ``{"orders": "orderkey",
        "orders.items": "line"}``. Each is there once in its bag, and by them rows of inner bags are found and stay what
        they are when a document comes again. Declaring a relation again is fine, and the name alone will do for one
        that is declared. Raises RelationChanged when the state holds it differently, NameTaken, and UnknownRelation.
        """
        name, record, key = named(name, record, key)
        if record is not None:
            row = annotation_type(record, f"relation {name}")
            self._commits.relation(declare(name, row, key, immutable, arrays, keys))
        else:
            self._state.refresh()
        r = find_relation(self._declared.relations, name)
        show, alter = self._state.relation, partial(self._alter, r.name)
        return RelationHandle(r.name, show, lambda: self.spark, self._folder, alter)

    def _alter(self, name: str, what: str, change: Callable[[Relation], Altered]) -> int:
        """Give a relation other fields, and make the views again of which that makes another program, however many rows
        they read: nobody expects them to wait. Returns the version."""
        before = self.waiting.keys()
        version, outgrown = self._defining.alter(name, what, change)
        for view in sorted(self.waiting.keys() - before):
            self._defining.rebuild(view, compiles=True)
        self.rebuild_small()
        self._publications.catch_up(self._store.seen())
        if outgrown:
            said = f"rows of {part(name)} are shown with the fields that they had before"
            then = "db.replace(view), of a class that has them, shows the others"
            warnings.warn(f"view {', '.join(map(part, outgrown))}: {said}; {then}", stacklevel=4)
        return version

    def load(self, name: str, rows: object) -> int:
        """Fill an empty relation, and compute the views that read it by ordinary queries. Returns the version.

        Rows of a DataFrame of Spark stay where they are: its tasks check, shred and write them. With ``engine="spark"``
        so do those of a large file, which Spark then opens, such as ``"s3a://lake/films.parquet"``. The same load again
        changes nothing, unless it was rolled back. Raises AlreadyLoaded when the relation has other rows, what is wrong
        with rows, and EnvironmentProblem for workers that lack this package or do not see the folder of the state.
        """
        version = self._commits.load(name, rows)
        self._publications.catch_up(self._store.seen())
        return version

    def create(self, view: HasQuery, materialize: Materialize | None = None) -> ViewHandle:
        """Keep ``view`` fresh from now on, computed by an ordinary query first. Creating it again is fine.

        ``materialize`` says which maps are kept beside the view so that batches join less: "none", "first" (those of
        first-order deltas), "full" (of all orders), or "cost", which keeps what pays for the rows that relations have
        at this moment. All give the same rows. Raises UnknownRelation or QueryError for a view that does not fit the
        relations, ViewChanged when the state holds a view of this name with another definition or other maps, and
        NotIncremental for a view that the policy "strict" does not allow. Under others, but "full", a warning says of a
        new view that some batch may read much more than it changes, and of which part.
        """
        name, made = self._defining.create(view, materialize)
        self._warn_of(made)
        return self.view(name)

    def replace(self, view: HasQuery, materialize: Materialize | None = None) -> ViewHandle:
        """Keep ``view`` in place of the view of its name, in one commit; maps that both have stay as they are.

        The changes of the view go across: what went is what only the old definition gave. Versions before it are shown
        by the old one. A table that it is published to is written whole. Raises UnknownView when there is no view of
        this name, and what ``create`` raises.
        """
        made = self._defining.replace(view, materialize)
        self._publications.catch_up(self._store.seen())
        self._warn_of(made)
        return self.view(made.query.name)

    def rebuild(self, name: str | None = None) -> tuple[str, ...]:
        """Keep views fresh again that wait for it, each in one commit, or the one called ``name``; which they were.

        A view waits when another release of the compiler made its maps. Raises UnknownView, and QueryError for a view
        that this release does not compile.
        """
        self._state.refresh()
        if name is not None:
            one_of(name, [view.name for view in self._declared.every], "there is no such view", error=UnknownView)
        done = self._defining.rebuild(name)
        self._publications.catch_up(self._store.seen())
        return done

    def rebuild_small(self) -> tuple[str, ...]:
        """Rebuild the waiting views that read few rows; the others wait for ``rebuild``. Opening a state does it."""
        return self._defining.rebuild(limit=SMALL, compiles=True)

    def drop(self, name: str) -> int:
        """Keep a view, or a relation with all its rows, no longer. Returns the version without it.

        Versions before it have it as long as they are kept: a view is ``view(name, as_of=...)``, a relation is read
        there when it is declared again as it was. The name is free at once.
        Raises StateError when views read the relation or the view is published, and UnknownView.
        """
        return self._defining.drop(text(name, "drop: name"))

    @property
    def waiting(self) -> dict[str, str]:
        """The views that wait to be rebuilt, each with the reason. Batches do not keep them fresh."""
        self._state.refresh()
        return {view.name: view.why for view in self._declared.waiting.values()}

    def track(self, name: str) -> None:
        """From now on keep the access keys by which ``changes(since=).nested`` and ``changed_rows`` of a view or
        relation read only what was touched. Publishing a view does it. Raises UnknownView."""
        one_of(name, (*self.views, *self.relations), "there is no such view or relation", error=UnknownView)
        shape = (self.relation(name) if name in self.relations else self.view(name)).shape
        self._state.index(wanted_keys(shape), note("track", name=name))

    def view(self, name: str, as_of: AsOf | None = None) -> ViewHandle:
        """A handle on a view; ``as_of`` as for handles, also for a view that was dropped since. Of one that waits, and
        that batches have left behind, a warning says which version its rows are of. Raises UnknownView."""
        self._state.refresh()
        there = self._declared.has_view(text(name, "view: name"))
        if there and as_of is None and (said := self._declared.left(name)):
            warnings.warn(f"{said}; db.rebuild({name!r}) makes it fresh", stacklevel=3)
        if not there and as_of is None:
            possible = [view.name for view in self._declared.every]
            if name in self._declared.relations:
                possible.insert(0, f"relation({name!r})")
            raise UnknownView("there is no such view", got=name, possible=possible)
        pieces = Pieces(self._declared, self._engines, self._policy)
        view = partial(self._declared.view, name)
        handle = ViewHandle(name, view, pieces, self._state.shown, lambda: self.spark, self._folder)
        return handle if as_of is None else handle.as_of(as_of)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations."""
        self._state.refresh()
        return tuple(self._declared.relations)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views, also of those that wait to be rebuilt (``waiting``)."""
        self._state.refresh()
        return tuple(view.name for view in self._declared.every)

    @property
    def sources(self) -> dict[str, int]:
        """By source of batches, the last seq that was applied, of all times: what it goes on after.

        A retry of it is answered, and the next one is one more. Vacuum and rollback forget none.
        """
        return self._state.sources()

    def verify(self, deep: bool | str | Collection[str] = False) -> Verification:
        """Whether the rows of the newest version are what they should be: relations consistent, each map what its
        definition gives. Bytes that it does not need, as those of older versions, are for ``check_files`` to read;
        ``ripplenest verify`` does both.

        ``deep`` also evaluates views on the nested relations, each or those with these names, in Python and without the
        compiler, for small data: each fold goes through all rows of what it is of. Where that has no value, because it
        asks about rows that other conditions drop, the answer says so.
        One version is looked at whole, and nothing changes. Raises CorruptState for bytes that have changed, and
        UnknownView.
        """
        snapshot = self._state.snapshot()
        deeply = self._deeply(deep)
        rows = Work(self._declared.plan(), snapshot.size, {}).full()
        with ExitStack() as held:
            built = Recomputing(self._state, self._sparks.builds)
            engine = self._engines.choose(rows)
            found = built.differing(snapshot, engine, rows, held)
            checked = built.checked(snapshot, engine, held)
            return verify(self._declared, snapshot, found, checked, self._store.room, deeply)

    def _deeply(self, deep: bool | str | Collection[str]) -> Collection[str] | None:
        """The views that are meant; None where none is asked for. Raises WrongValue, and UnknownView."""
        if isinstance(deep, bool):
            return self.views if deep else None
        if not isinstance(deep, str | list | tuple | set | frozenset) or not deep:
            possible = ["True", "False", "the name of a view, or several"]
            raise WrongValue("not a yes or no, nor views", where="verify: deep", got=kind(deep), possible=possible)
        named = (deep,) if isinstance(deep, str) else deep
        return [one_of(name, self.views, "there is no such view", error=UnknownView) for name in named]

    # ------------------------------------------------------------ versions

    def history(self, limit: int | None = None) -> History:
        """The versions that are kept, newest first, at most ``limit`` of them: when, which batch, and what was done.

        A list of entries, shown as a table.
        """
        return History(self._store.history(None if limit is None else count(limit, "history: limit", 1)))

    def version_of(self, as_of: AsOf) -> int:
        """The version that ``as_of`` means, which is kept. Raises StateError."""
        return self._state.snapshot(moment(as_of, "version_of")).version

    def rollback(self, to: AsOf) -> int:
        """Go back to version ``to``, or to what the batch (source, seq) made, as a new version. Returns its number.

        Relations have the rows that they had then, and views match them, those that were made since, too. What was
        declared stays declared. Batches that are undone stay applied: their sources go on with the next seq. Views are
        maintained or recomputed as under the policy "auto", because going back must not fail; with "full" they are
        recomputed. Raises StateError for a version that is no longer kept.
        """
        made = self._commits.rollback(self._policy, self.version_of(moment(to, "rollback")))
        self._publications.catch_up(self._store.seen())
        return made

    def compact(self, everything: bool = False) -> int:
        """Merge stored segments where there are many, or all of each table; how many rows were rewritten.

        Batches do most of it themselves. Readers go on meanwhile, other writers take turns with it. With
        ``engine="spark"`` tasks merge what is large.
        """
        compacting = Compacting(self._state, self._engines, self._sparks.builds)
        return compacting.compact(flag(everything, "compact: everything"))

    def vacuum(self, keep: int | None = None) -> Swept:
        """Forget old versions, all but the newest and ``keep`` before it, and remove the files that only they needed.

        Without ``keep`` as many as the state retains (``ripplenest.open``). Which batches were applied stays known.
        """
        return self._store.vacuum(keep)

    @property
    def usage(self) -> Usage:
        """What the state takes up: versions, files, bytes, segments."""
        return self._store.usage()

    def check_files(self) -> int:
        """Read every stored segment and compare its digest; how many there are. Raises CorruptState."""
        return self._store.check_segments()

    @property
    def where(self) -> str:
        """Where the catalogue is, without a password."""
        return self._store.where

    # ------------------------------------------------------------ publishing

    def publish(
        self,
        view: str,
        path: str | os.PathLike[str],
        layout: Layout = "nested",
        rebuild: bool = False,
        adopt: bool = False,
    ) -> Published:
        """Publish a view as a Delta table at ``path``, now and after every batch, load and rollback.

        ``layout`` "nested" is one table with inner bags as arrays, and ``_id`` to tell rows apart; "shredded" is one
        for the flat part and one for each dictionary, in folders of ``path``. Each of our versions is recorded in the
        Delta commit that shows it, so none is lost and none applied twice. ``rebuild`` writes the tables whole. A table
        belongs to one state: ``adopt`` takes one over from a copy of this state, which is refused from then on. Raises
        UnknownView, StateError for tables of others and where there is none to adopt, QueryError for names that Delta
        tables cannot have, and EnvironmentProblem without deltalake (``pip install 'ripplenest[delta]'``). A batch
        whose publication fails raises NotPublished: the batch is committed, and what is missing is published by the
        next one.
        """
        flag(rebuild, "publish: rebuild")
        return self._publications.add(view, path, layout, rebuild, flag(adopt, "publish: adopt"))

    def unpublish(self, view: str, path: str | os.PathLike[str]) -> None:
        """Publish a view there no longer. Its tables stay as they are. Raises StateError when it is not published."""
        self._publications.remove(view, path)

    @property
    def publications(self) -> tuple[Target, ...]:
        """What is published: each with ``view``, ``path`` and ``layout``."""
        return self._publications.targets

    def behind(self) -> tuple[str, ...]:
        """What is not published of the newest version, one text for each reason; nothing is written."""
        return self._publications.behind()

    def catch_up(self) -> tuple[Published, ...]:
        """Publish what is missing. Opening a state does it, and every batch. Raises NotPublished."""
        return self._publications.catch_up()

    # ------------------------------------------------------------ change

    def batch(self, source: str | None = None, seq: int | None = None, policy: Policy | None = None) -> Batch:
        """A batch of changes, applied when its ``with`` block ends, once for each (source, seq).

        The first seq of a source is free, then each is one more than the last. Without both, the batch is the next
        one of the source ``local``. ``policy`` is that of the database unless given (``ripplenest.open``).
        """
        self._store.check_open()
        chosen = self._policy if policy is None else check_policy(policy)
        used: dict[str, Relation] = {}

        def find(name: str) -> Relation:
            r = self._relation(name)
            return used.setdefault(r.name, r)

        def check() -> None:
            self._state.refresh()
            self._declared.check_unchanged(used)

        def commit(*recorded: Any) -> Report:
            return self._apply(chosen, Recorded(used, *recorded))

        return Batch(find, check, commit, self._commits.spread, source, seq)

    def _warn_of(self, made: Kept | None) -> None:
        """Tell the program what its new view costs: it is two frames above a public name."""
        said = None if made is None else self._defining.costs(made)
        if said is not None:
            warnings.warn(said, stacklevel=4)

    def _relation(self, name: str) -> Relation:
        """The relation ``name``, which another object may have declared meanwhile. Raises UnknownRelation."""
        try:
            return find_relation(self._declared.relations, name)
        except UnknownRelation:
            self._state.refresh()
            return find_relation(self._declared.relations, name)

    def _apply(self, policy: Policy, recorded: Recorded) -> Report:
        self._report = self._commits.batch(policy, recorded)
        self._publications.catch_up(self._store.seen())
        return self._report
