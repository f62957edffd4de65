"""From a view and its target to the tables that are written."""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.nrc.errors import StateError
from ripplenest.publish.columns import check_names
from ripplenest.publish.library import deltalake, storage
from ripplenest.publish.source import Nested, Shredded, Source, nested_schema, shredded_schema
from ripplenest.publish.tables import History, PublishedTable, Publisher, unknown
from ripplenest.publish.target import Target, check_folder, folder_name, former_tables, make_folder
from ripplenest.schema.shape import OutputShape
from ripplenest.store.place import Place
from ripplenest.version.version import Version

FLAT = "flat"


@frozen
class Published:
    """What a publication did, table by table; of a shredded view, the flat part is the last."""

    view: str
    tables: tuple[PublishedTable, ...]

    def __str__(self) -> str:
        """The view and its version, and a line for each table."""
        lines = (f"  {t.uri}: {t.written:,} rows written, {t.removed:,} removed ({_how(t)})" for t in self.tables)
        return "\n".join((f"{self.view}, version {self.version}", *lines))

    @property
    def version(self) -> int:
        """The version that every table shows, or a later one: the least transaction version."""
        return min(t.version for t in self.tables)

    @property
    def delta_version(self) -> int:
        """The Delta version of the last table."""
        return self.tables[-1].delta_version

    @property
    def full(self) -> bool:
        """True when a table was written whole; its ``why`` says why."""
        return any(t.how == "whole" for t in self.tables)

    @property
    def changed(self) -> bool:
        """False when every table showed the version before."""
        return any(t.how != "nothing" for t in self.tables)

    @property
    def written(self) -> int:
        """Rows that were added or updated."""
        return sum(t.written for t in self.tables)

    @property
    def removed(self) -> int:
        """Rows that are gone."""
        return sum(t.removed for t in self.tables)


def _how(t: PublishedTable) -> str:
    return f"{t.how}: {t.why}" if t.why else t.how


def check_target(shape: OutputShape, target: Target) -> None:
    """That ``shape`` can be published so, before anything is. Raises QueryError for names that Delta tables cannot
    have, and EnvironmentProblem without deltalake."""
    deltalake()
    where = f"publish {shape.name}"
    if target.layout == "nested":
        check_names(nested_schema(shape), where)
    else:
        for site in (None, *shape.sites):
            check_names(shredded_schema(shape, site), where)


def publish(
    shape: OutputShape,
    snapshot: Version,
    target: Target,
    app_id: str,
    oldest: int = 0,
    rebuild: bool = False,
    history: History = unknown,
    place: Place | None = None,
    adopt: bool = False,
) -> Published:
    """Make the tables of ``target`` show the view of ``shape`` at the version of ``snapshot``.

    ``app_id`` names the state and the view, for ever. Tables that show the version, or a later one, are left alone; a
    table that shows an older one gets the changes since in one commit. A new table is written whole, and so is one
    that is older than ``oldest``, the oldest version since which changes are known; with ``rebuild`` every table is.
    ``history`` tells the digests of versions, ``place`` where the state lives.
    Raises StateError for tables of others, for tables that others changed, for those that a copy of the state wrote,
    unless they are to be ``adopt``ed, and for those that show a version of another history (the state was restored from
    a backup, or copied); EvaluationError for a nested view with a multiplicity
    below 0, and what ``check_target`` raises.
    """
    check_target(shape, target)
    if target.layout == "shredded":
        make_folder(*_root(shape, target))
    version = snapshot.version
    published = (
        Publisher(source, uri, app_id, version, oldest, rebuild, history, place, adopt).publish()
        for source, uri in _sources(shape, snapshot, target)
    )
    return Published(shape.name, tuple(published))


def look(
    shape: OutputShape,
    snapshot: Version,
    target: Target,
    app_id: str,
    history: History = unknown,
    rebuild: bool = False,
    place: Place | None = None,
    adopt: bool = False,
) -> tuple[int | None, ...]:
    """The version that each table of ``target`` shows, None for one that is missing. Raises what ``publish`` raises
    because of what is there, before anything is changed."""
    check_target(shape, target)
    if target.layout == "shredded":
        check_folder(*_root(shape, target))
    return tuple(
        Publisher(source, uri, app_id, snapshot.version, 0, rebuild, history, place, adopt).look()
        for source, uri in _sources(shape, snapshot, target)
    )


def _sources(shape: OutputShape, snapshot: Version, target: Target) -> Iterator[tuple[Source, str]]:
    """What is published where; the flat part last, so that whoever sees its version finds all labels defined."""
    if target.layout == "nested":
        yield Nested(shape, snapshot), target.path
        return
    for site in reversed(shape.sites):
        yield Shredded(shape, snapshot, site), target.folder(folder_name(site))
    yield Shredded(shape, snapshot), target.folder(FLAT)


def _root(shape: OutputShape, target: Target) -> tuple[str, str, tuple[str, ...]]:
    """The folder of the tables, where that is, and what may be in it. Raises StateError for one that is a table."""
    where = f"view {shape.name} at {target.path}"
    with storage(where):
        taken = deltalake().DeltaTable.is_deltatable(target.path)
    if taken:
        what = "a Delta table where the folder of several would be"
        raise StateError(what, where=where, possible=["another path"])
    return target.path, where, (FLAT, *map(folder_name, shape.sites), *former_tables(target.path))
