"""The databases that can hold a catalogue: a SQLite file in the state directory, or PostgreSQL by URL.

A backend says how a transaction begins and what an error means. A transaction that reads sees one moment; one that
writes is the only one that writes, and its lock ends with its process, however that ends: BEGIN IMMEDIATE locks the
file, an advisory lock belongs to PostgreSQL's connection. Commits are durable in both.
"""

import hashlib
import os
import re
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Dialect, Engine
from sqlalchemy.pool import QueuePool

from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.disk import refusals
from ripplenest.store.place import Place, place_of_folder

FILE = "catalogue.sqlite"
BUSY_SECONDS = 30.0
IDENTITY = re.compile(r"[0-9a-f]{32}")


class Backend(ABC):
    """A database with a catalogue. ``where`` names it in messages, without a password."""

    where: str
    identity: str  # what a new state is called, for ever
    beside: bool  # whether the catalogue lies with the segments, and is copied and put back together with them
    engine: Engine

    @abstractmethod
    def begin(self, c: Connection, write: bool) -> None:
        """Begin a transaction of ``c``: one moment to read, or the only writer. May wait BUSY_SECONDS."""

    @abstractmethod
    def make(self, c: Connection) -> None:
        """Make what the tables of a new catalogue are in, in the transaction that makes them."""

    @abstractmethod
    def settle(self) -> None:
        """Make durable what is read as committed: who committed it may have died before that was done."""

    @abstractmethod
    def damage(self, c: Connection) -> str | None:
        """What the database itself finds to be damaged, which digests of rows cannot see; it may read all of it."""

    @abstractmethod
    def place(self, c: Connection) -> Place:
        """Where the state lives, as long as its catalogue is one with others who ask."""

    @property
    def driver_error(self) -> type[BaseException]:
        """The errors of the driver itself."""
        dbapi = self.engine.dialect.dbapi
        assert dbapi is not None
        return dbapi.Error

    @abstractmethod
    def explained(self, e: sa.exc.DBAPIError) -> StateError:
        """What an error of the driver means: CorruptState where stored bytes have changed."""

    def _refused(self, got: object) -> StateError:
        return StateError("the catalogue cannot be used now", where=self.where, got=got)

    def _damaged(self, got: object) -> CorruptState:
        return CorruptState("the catalogue has changed", where=self.where, wanted="a catalogue", got=got)


class Sqlite(Backend):
    """The file FILE in a state directory, for its owner alone."""

    beside = True

    def __init__(self, folder: Path) -> None:
        self._folder, path = folder, folder / FILE
        with refusals(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self.where, self.identity = str(path), token_hex(16)
        self.engine = _engine(URL.create("sqlite", database=str(path)))

        @event.listens_for(self.engine, "connect")
        def connect(connection: Any, _: object) -> None:
            connection.isolation_level = None  # the driver's own BEGIN comes too late and is never IMMEDIATE
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").close()

    def begin(self, c: Connection, write: bool) -> None:
        c.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    def make(self, c: Connection) -> None:
        """The file is enough."""

    def settle(self) -> None:
        """That the journal is of no transaction any longer is the last thing that a commit makes durable. Of a process
        that dies just before, all others read what it committed, until the power fails."""
        journal = self._folder / f"{FILE}-journal"
        with refusals(journal), suppress(FileNotFoundError):
            own = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(own)
            finally:
                os.close(own)

    def damage(self, c: Connection) -> str | None:
        found = c.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        return None if found == "ok" else str(found)

    def place(self, c: Connection) -> Place:  # noqa: ARG002 - the file says nothing of where it is
        return place_of_folder(self._folder)

    def explained(self, e: sa.exc.DBAPIError) -> StateError:
        name = getattr(e.orig, "sqlite_errorname", "SQLITE_CORRUPT")
        return self._refused(f"{name}: {e.orig}") if name.startswith(_REFUSED) else self._damaged(e.orig)


COMPILED: dict[Any, Any] = {}  # the statements of our own tables by what they are: as many as the code has


@cache
def _dialect() -> Dialect:
    """What speaks SQLite, after it has met the library once."""
    engine = sa.create_engine("sqlite://")
    with engine.connect():
        return engine.dialect


def _engine(url: URL) -> Engine:
    """As ``create_engine``, but for one dialect, and so for one text of each statement, for all files of this process.

    Compiling them is more work than all else that SQL does when a state is opened.
    """
    dialect = _dialect()
    args, named = dialect.create_connect_args(url)
    given = {**named, "timeout": BUSY_SECONDS}
    pool = QueuePool(lambda: dialect.connect(*args, **given), dialect=dialect)
    return Engine(pool, dialect, url, execution_options={"compiled_cache": COMPILED})


class Postgres(Backend):
    """A schema of its own for each state, in the database of a URL like postgresql+psycopg://user@host/name.

    Nothing is sent before the first transaction. Settings are those of one transaction: what the URL, the role or the
    database says otherwise stays as it is.
    """

    beside = False

    def __init__(self, url: str, identity: str) -> None:
        assert IDENTITY.fullmatch(identity), identity  # it becomes part of SQL
        parsed = _parsed(url)
        self.where, self.identity = _shown(parsed), identity
        self._schema = f"ripplenest_{identity}"
        lock = int.from_bytes(hashlib.sha256(self._schema.encode()).digest()[:8], "big", signed=True)
        self._reading = f"{_READ}; SET LOCAL search_path = {self._schema}"
        self._writing = f"{_WRITE}; SET LOCAL search_path = {self._schema}; SELECT pg_advisory_xact_lock({lock})"
        args = {name: value for name, value in _ARGS.items() if name not in parsed.query}
        try:
            self.engine = sa.create_engine(
                parsed, connect_args=args, pool_pre_ping=True, hide_parameters=True, use_native_hstore=False
            )
        except ImportError as e:
            what = "the driver for this catalogue is not installed"
            raise EnvironmentProblem(what, wanted="psycopg", got=e.name or e, possible=[_INSTALL]) from e

    def begin(self, c: Connection, write: bool) -> None:
        c.exec_driver_sql(self._writing if write else self._reading)

    def make(self, c: Connection) -> None:
        if not sa.inspect(c).has_schema(self._schema):
            c.execute(sa.schema.CreateSchema(self._schema))

    def reach(self) -> None:
        """Raises StateError when the database cannot be used."""
        try:
            with self.engine.connect():
                pass
        except sa.exc.DBAPIError as e:
            raise self.explained(e) from e
        finally:
            self.engine.dispose()

    def settle(self) -> None:
        """What can be read is durable there."""

    def damage(self, c: Connection) -> str | None:  # noqa: ARG002 - PostgreSQL checks its pages as it reads them
        return None

    def place(self, c: Connection) -> Place:
        """The catalogue is the state, whatever folders and hosts there are: two folders with one schema have one
        history, and a schema that was dumped and restored has numbers of its own, unless at the same URL."""
        from sqlalchemy.dialects.postgresql import OID  # noqa: PLC0415 - nobody else waits for its dialects

        allowed = sa.func.has_function_privilege("pg_control_system()", "execute")
        system = sa.func.pg_control_system().table_valued("system_identifier").c.system_identifier
        databases = sa.table("pg_database", sa.column("oid"), sa.column("datname")).c
        database = sa.select(databases.oid).where(databases.datname == sa.func.current_database())
        schema = sa.select(sa.cast(sa.func.to_regnamespace(self._schema), OID))
        server = c.scalar(sa.select(system)) if c.scalar(sa.select(allowed)) else None
        return Place.of([server, c.scalar(database), c.scalar(schema)], [self.where, self._schema])

    def explained(self, e: sa.exc.DBAPIError) -> StateError:
        state, said = getattr(e.orig, "sqlstate", None) or "", _said(e.orig)
        if state == _LOCKED:
            return self._refused(f"another writer is at work for more than {BUSY_SECONDS:.0f} s ({said})")
        return self._damaged(said) if state in _DAMAGED else self._refused(said)


def _parsed(url: str) -> URL:
    try:
        parsed = sa.make_url(url) if isinstance(url, str) and url.isprintable() else None
    except (sa.exc.ArgumentError, ValueError):  # ValueError: a port that is no number
        parsed = None
    if parsed is None or parsed.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        got = None if parsed is None else parsed.drivername
        wanted = "postgresql+psycopg://user@host/database"
        raise StateError("not a URL of a catalogue", where="catalogue", wanted=wanted, got=got)
    return parsed.set(drivername="postgresql+psycopg")


def _said(e: BaseException | None) -> str:
    """What the server says in one line: not the values, which are in the lines after it, nor the SQL."""
    said = getattr(getattr(e, "diag", None), "message_primary", None) or e
    return " ".join(str(said).split())


def _shown(url: URL) -> str:
    """``url`` without its password, and without parameters, of which several can be one."""
    shown = {name: value for name, value in url.query.items() if name in ("host", "port", "dbname", "service")}
    return url.set(query=shown).render_as_string(hide_password=True)


# What the URL does not say itself. A server that has vanished becomes an error after a minute, and not after hours.
_ARGS = {
    "application_name": "ripplenest",
    "client_encoding": "utf8",
    "connect_timeout": int(BUSY_SECONDS),
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_READ = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# Each statement sees what was committed before it, so all after the lock see the newest version. Keepalives end the
# connection, and with it the lock, of a host that has vanished. A commit that returns is durable, whatever is usual.
_WRITE = f"""
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET LOCAL lock_timeout = '{int(BUSY_SECONDS)}s';
    SET LOCAL tcp_keepalives_idle = 30;
    SET LOCAL tcp_keepalives_interval = 10;
    SET LOCAL tcp_keepalives_count = 3;
    SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
"""
_INSTALL = "pip install 'ripplenest[postgres]'"
_LOCKED = "55P03"  # lock_not_available
# data_corrupted, index_corrupted, undefined_table, undefined_column, datatype_mismatch
_DAMAGED = ("XX001", "XX002", "42P01", "42703", "42804")
_REFUSED = tuple(
    f"SQLITE_{n}" for n in ("BUSY", "LOCKED", "FULL", "IOERR", "READONLY", "CANTOPEN", "PERM", "NOMEM", "CONSTRAINT")
)
JOURNAL = 1 << 20  # bytes of a journal that stay when their transaction has ended
# A rollback journal and not WAL: a damaged WAL silently loses the newest versions. The journal stays where it is, which
# costs a sync of bytes and none of lengths; zeros where it begins say that it is of no transaction.
_PRAGMAS = (
    "journal_mode=PERSIST",
    f"journal_size_limit={JOURNAL}",
    "synchronous=FULL",
    "foreign_keys=ON",
    "trusted_schema=OFF",
    "cell_size_check=ON",
)
