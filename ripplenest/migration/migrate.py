"""A state of this format out of one of an older: relations are copied, views are built again."""

import os
import shutil

from attrs import field, frozen

from ripplenest.api.defining import Defining
from ripplenest.intake.given import Given
from ripplenest.migration.older import Older
from ripplenest.nrc.arguments import local_path
from ripplenest.nrc.border import bordered
from ripplenest.nrc.errors import QueryError, StateError
from ripplenest.nrc.syntax import Query
from ripplenest.publish.publications import Publications
from ripplenest.run.engines import local_engines
from ripplenest.state.commits import Commits
from ripplenest.state.define import Definitions
from ripplenest.state.state import State
from ripplenest.store.database.catalogue import OLDER
from ripplenest.store.folder import is_state
from ripplenest.store.store import Store


@frozen
class Migration:
    """What became of a state: how many rows each relation has, the views that are kept, those that are not and why,
    how many batches stay known as applied, and by path the view of each Delta table that is published no longer."""

    version: int
    relations: dict[str, int]
    views: tuple[str, ...]
    left_out: dict[str, str] = field(factory=dict)
    batches: int = 0
    publications: dict[str, str] = field(factory=dict)


@frozen
class _Term:
    query: Query


@bordered
def migrate(old: str | os.PathLike[str], new: str | os.PathLike[str], catalogue: str | None = None) -> Migration:
    """Make the state ``new`` of this format out of ``old``, of an older one, which stays as it is.

    Relations are copied with the rows of the newest version, views are built again, and every batch that was applied
    stays known as applied. Older versions, and keys that ``track`` declared, are not copied; publications begin anew
    with ``publish(..., adopt=True)``. ``catalogue`` is the URL of the PostgreSQL database of ``old``, if it has one.
    The new state has its catalogue in its folder, and is there as a whole or not at all. Raises StateError where
    ``old`` is of no older format or ``new`` is there, and CorruptState.
    """
    source, target = local_path(old, "migrate: old"), local_path(new, "migrate: new")
    if not is_state(source):
        raise StateError("there is no state", where=str(source), wanted="the folder of a state")
    if target.exists():
        raise StateError("the new state is there already", where=str(target), possible=["another folder"])
    making = target.with_name(f"{target.name}.migrating")
    if making.exists():  # of a migration that died
        shutil.rmtree(making)
    with Store.open(source, catalogue=catalogue, formats=OLDER) as store, Store.open(making) as fresh:
        done = _copied(Older(store), fresh)
    os.rename(making, target)
    return done


def _copied(older: Older, store: Store) -> Migration:
    state, engines = State(store), local_engines()
    state.refresh()
    commits = Commits(state, engines)
    defining = Defining(state, commits, Definitions(state, engines), Publications(state), "auto")
    relations: dict[str, int] = {}
    for r in older.relations():
        rows = tuple(value for value, n in older.rows(r) for _ in range(n))
        relations[r.name] = len(rows)
        commits.relation(r)
        commits.fill(r.name, Given(r.row, values=rows))
    views, left_out = _views(older, defining)
    store.remember(batches := older.batches())
    publications = {target.path: target.view for target in older.publications()}
    return Migration(store.version, relations, views, left_out, len(batches), publications)


def _views(older: Older, defining: Defining) -> tuple[tuple[str, ...], dict[str, str]]:
    """The views that are kept, and why others are not."""
    views: list[str] = []
    left_out: dict[str, str] = {}
    for view in older.views():
        try:
            views.append(defining.create(_Term(view.query), view.materialize)[0])
        except QueryError as error:
            left_out[view.query.name] = error.what
    return tuple(views), left_out
