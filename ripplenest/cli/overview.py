"""``status``: what is in a state, how far it has come, and what it takes up."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import ripplenest as rn
from ripplenest.cli.output import Json, counted, print_json, print_table, printable, size, utc
from ripplenest.cli.states import Catalogue, State, handle, open_state
from ripplenest.cli.versions import usage_json

if TYPE_CHECKING:
    from ripplenest.api.handles import RelationHandle, ViewHandle

EXACT = 100_000  # stored rows up to which rows are counted


def status(state: State, as_json: Json = False, catalogue: Catalogue = None) -> None:
    """Print what is in a state, how far it has come, and what it takes up.

    The catalogue, versions, relations and views with their rows, the last batch of each source, publications, files.
    """
    with open_state(state, catalogue) as db:
        found = facts(db)
    if as_json:
        print_json(found)
    else:
        print_table(_lines(found))


def facts(db: "rn.Database") -> dict[str, Any]:
    """All of it as plain data."""
    relations, views, usage, waiting = db.relations, db.views, db.usage, db.waiting
    return {
        "catalogue": db.where,
        "version": usage.newest,
        **usage_json(usage),
        "relations": [_named(db, name, usage.newest) for name in relations],
        "views": [_view(db, name, usage.newest, waiting) for name in views],
        "sources": _sources(db),
        "publications": [{"view": p.view, "path": p.path, "layout": p.layout} for p in db.publications],
        "last": next(({"what": e.what, "time": e.time.isoformat()} for e in db.history(1)), None),
    }


def _named(db: "rn.Database", name: str, version: int) -> dict[str, Any]:
    _, found = handle(db, name)
    rows, exact = _count(found.as_of(version))
    return {"name": name, "rows": rows, "exact": exact}


def _view(db: "rn.Database", name: str, version: int, waiting: dict[str, str]) -> dict[str, Any]:
    """A view; one that waits is shown as it was when it was last kept fresh, if that can still be read."""
    if name not in waiting:
        return _named(db, name, version)
    try:
        rows, exact = _count(db.view(name))
    except rn.errors.StateError:
        rows, exact = None, False
    return {"name": name, "rows": rows, "exact": exact, "waits": waiting[name]}


def _count(found: "RelationHandle | ViewHandle") -> tuple[int, bool]:
    """Rows, each as often as it comes, and True; of large tables, what the catalogue says without reading them, which
    counts changes that are not merged yet, and False."""
    return (found.count(), True) if found.size <= EXACT else (found.size, False)


def _sources(db: "rn.Database") -> list[dict[str, Any]]:
    """The last batch of each source, newest first, and then those whose versions are no longer kept."""
    lasts = db.sources  # before the history, which can only know of later ones
    kept = {(e.source, e.seq): {"version": e.version, "time": e.time.isoformat()} for e in db.history()}
    gone = {"version": None, "time": None}
    found = [{"source": source, "seq": seq, **kept.get((source, seq), gone)} for source, seq in lasts.items()]
    return sorted(found, key=lambda s: -(s["version"] or 0))


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "catalogue", printable(found["catalogue"])
    older = f", {found['oldest']} to {found['newest']} are kept" if found["oldest"] < found["newest"] else ""
    yield "version", f"{found['version']}{older} (retains {counted(found['retain'], 'version')} besides the newest)"
    if found["last"]:
        yield "last", f"{_time(found['last'])}, {printable(found['last']['what'])}"
    for what in ("relation", "view"):
        for kept in found[f"{what}s"]:
            rows = "rows unknown" if kept["rows"] is None else counted(kept["rows"], "row")
            about = rows if kept["exact"] or kept["rows"] is None else f"about {rows}"
            waits = f", waits for rebuild: {printable(kept['waits'])}" if kept.get("waits") else ""
            yield what, f"{printable(kept['name'])}, {about}{waits}"
    for s in found["sources"]:
        yield "source", f"{printable(s['source'])}, seq {s['seq']}{_made(s)}"
    for p in found["publications"]:
        yield "published", f"{printable(p['view'])}, {p['layout']}, at {printable(p['path'])}"
    segments = counted(found["segments"], "live segment")
    yield "stored", f"{counted(found['files'], 'file')}, {size(found['bytes'])}, {segments}"
    if found["orphans"]:
        left = counted(len(found["orphans"]), "file")
        yield "orphans", f"{left} that nothing names; the next batch or vacuum removes them"


def _made(last: dict[str, Any]) -> str:
    version = last["version"]
    return ", of a version no longer kept" if version is None else f" as version {version}, {_time(last)}"


def _time(of: dict[str, Any]) -> str:
    return f"{utc(datetime.fromisoformat(of['time']))} UTC"
