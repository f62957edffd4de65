"""A PostgreSQL server for tests, on loopback and in a folder of its own, and a wire to it that can be cut."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import sqlalchemy as sa

psycopg = pytest.importorskip(
    "psycopg", reason="psycopg is not installed, so the catalogue on PostgreSQL is NOT TESTED"
)

INSTALL = "Debian: apt-get install postgresql"
USER = "tester"
SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",  # a killed process keeps what the kernel has; no test here cuts the power
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "ssl": "off",  # the wire below reads what goes over it
}
WAIT = 30.0


class Server:
    """A server that was made by ``running``. Its password is random, and no URL but ours has it."""

    def __init__(self, binaries: Path, folder: Path, owner: str | None) -> None:
        self._binaries, self._data, self._owner = binaries, folder / "data", owner
        self._log = folder / "log"
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        word = folder / "password"
        word.write_text(self.password)
        if owner is not None:
            for path in (folder, word):
                shutil.chown(path, owner)
        how = ("--no-sync", "--no-instructions", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256")
        made = self._run("initdb", "-D", self._data, f"--username={USER}", f"--pwfile={word}", *how)
        assert made.wait(120) == 0, self.log()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        where = (f"-p{self.port}", f"-cunix_socket_directories={self._data}")
        self._process = self._run("postgres", "-D", self._data, *where, *options)
        end = time.monotonic() + WAIT
        while True:
            try:
                return self.connect("postgres").close()
            except psycopg.OperationalError:
                assert self._process.poll() is None and time.monotonic() < end, self.log()
                time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends sessions and writes a checkpoint, SIGQUIT is a crash, after which it recovers."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(WAIT)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def connect(self, database: str) -> "psycopg.Connection":
        """A connection of its own, each statement a transaction."""
        url = {"host": "127.0.0.1", "port": self.port, "user": USER, "password": self.password}
        return psycopg.connect(**url, dbname=database, autocommit=True, connect_timeout=10)

    def create(self, database: str, like: str = "template0", encoding: str = "UTF8") -> str:
        """Make a database, a copy of the one that it is ``like``; its URL."""
        sql = psycopg.sql
        words = [sql.Identifier(database), sql.Identifier(like), sql.Literal(encoding)]
        with self.connect("postgres") as c:
            c.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}").format(*words))
        return self.url(database)

    def url(self, database: str, port: int | None = None) -> str:
        parts = {"username": USER, "password": self.password, "host": "127.0.0.1", "port": port or self.port}
        return sa.URL.create("postgresql+psycopg", **parts, database=database).render_as_string(hide_password=False)

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _run(self, program: str, *args: object) -> "subprocess.Popen[bytes]":
        words = [str(self._binaries / program), *map(str, args)]
        group = None if self._owner is None else pwd.getpwnam(self._owner).pw_gid
        extra = None if self._owner is None else []
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._data.parent, user=self._owner,
                group=group, extra_groups=extra, env={**os.environ, "LC_ALL": "C"}, start_new_session=True,
            )  # fmt: skip


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A running server; skips the test that asks for it where there can be none."""
    binaries = _binaries()
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="ripplenest-postgres-"))
    server = None
    try:
        server = Server(binaries, folder, owner)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGQUIT)
        shutil.rmtree(folder)


def _binaries() -> Path:
    """The folder with the server's programs: of PATH, or the newest where Debian puts them."""
    found = [Path(p).resolve().parent for p in (shutil.which("postgres"),) if p]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True)
    for folder in found:
        if all((folder / program).is_file() for program in ("initdb", "postgres")):
            return folder
    pytest.skip(f"PostgreSQL's server is not installed, so the catalogue on it is NOT TESTED ({INSTALL})")


def _owner() -> str | None:
    """Who the server runs as: None for us, another user when we are root, as whom it refuses to run."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL does not run as root and there is no other user, so the catalogue on it is NOT TESTED")


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


# ---------------------------------------------------------------- a wire that can be cut


class Wire:
    """Forwards connections to a server, and cuts the next one that sends COMMIT when ``armed`` says so.

    "before": the server does not get it. "after": it does, and the client hears no more. Towards the server the
    connection stays open, as after a failure of the network, until ``drop``. ``cuts`` counts.
    """

    def __init__(self, to: int) -> None:
        self._to, self._listener = to, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.armed: Literal["before", "after"] | None = None
        self.cuts = 0
        self._sockets: list[socket.socket] = []
        self._hanging: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._listener, *self._sockets)

    def drop(self) -> None:
        """The server notices that the clients of connections that were cut are gone."""
        _close(*self._hanging)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [client, server]
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                cut = self.armed if b"COMMIT" in data else None
                if cut is not None:
                    self.armed, self.cuts = None, self.cuts + 1
                    self._hanging.append(server)
                    _close(client)  # before there can be an answer
                if cut != "before":
                    server.sendall(data)
                if cut is not None:
                    return
            server.shutdown(socket.SHUT_WR)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)


def _close(*sockets: socket.socket) -> None:
    for s in sockets:
        with contextlib.suppress(OSError):
            s.shutdown(socket.SHUT_RDWR)  # ends the thread that reads from it
        s.close()
