"""States with their catalogue on PostgreSQL: what they hold, there and here, and processes that work on them."""

import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Disk, Store, TableSpec
from ripplenest.store.folder import MARKER

if TYPE_CHECKING:  # it skips who imports it without psycopg, which a conftest.py may not
    from support.postgres import Server

TYPES = (Base("long"), Base("string", True))
PAIR = TableSpec("pair", TYPES, ((1,), (1, 0)))


def rows(*pairs):
    return Rows.of_pairs(TYPES, pairs)


def one(i: int, source: str = "shop", **more) -> Change:
    """Batch ``i`` of ``source``: the row (i, source)."""
    return Change({"pair": rows(((i, source), 1))}, source=source, seq=i, digest=f"d{i}", **more)


def schema_of(state: Path) -> str:
    return "ripplenest_" + json.loads((state / MARKER).read_text())["id"]


def schemas(server: "Server", database: str) -> set[str]:
    with server.connect(database) as c:
        found = c.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ripplenest%'").fetchall()
    return {name for (name,) in found}


def files(state: Path) -> list[str]:
    return sorted(p.name for p in (state / "segments").iterdir())


def named(store: Store) -> list[str]:
    with store._catalogue.transaction() as c:
        return sorted(store._catalogue.files(c))


def sessions(server: "Server", name: str) -> int:
    with server.connect("postgres") as c:
        return c.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [name]).fetchone()[0]


def all_said(e: BaseException | None) -> str:
    """The texts of an error and of those behind it."""
    return "" if e is None else f"{e!r} {e} {all_said(e.__cause__)} {all_said(e.__context__)}"


class Steps(Disk):
    """Calls ``hook`` before each change of the disk, with what it is: "sync" of segments, "root sync" of the marker."""

    hook: Callable[[str], object] = staticmethod(lambda _: None)

    def step(self, what, name):  # noqa: ARG002 - the name is random
        type(self).hook(what if self.folder.name == "segments" else f"root {what}")


def forked(work: Callable[[], object]) -> int:
    """The process id of a child that does ``work`` and ends with status 0, or 1 when it raises."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def ended(pid: int) -> int:
    """The status of a child, negative when a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
