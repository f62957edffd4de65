"""One server for all tests of this folder, and the catalogue on it where a test names none.

``Store.open`` without a catalogue means a state in the database ``states``, one of many in there.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.postgres_states import Steps
from support.states import MEMORY

from ripplenest.store import Store
from ripplenest.store.database import backend

if TYPE_CHECKING:
    from support.postgres import Server


@pytest.fixture(scope="session")
def server() -> Iterator["Server"]:
    """For the session, as each start costs seconds; the group "postgres" of each module keeps it to one worker."""
    from support.postgres import running  # noqa: PLC0415 - skips without psycopg: a test may, a conftest.py may not

    with running() as found:
        yield found


@pytest.fixture(scope="session")
def url(server: "Server") -> str:
    return server.create("states")


@pytest.fixture(scope="module", autouse=True)
def on_postgres(url: str) -> Iterator[None]:
    plain = Store.open

    def opened(*args, **options):
        return plain(*args, **{"catalogue": url, **options})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "open", staticmethod(opened))
        patch.setattr(tempfile, "tempdir", MEMORY)
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where no commit waits for a disk; the server's own files are elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for another writer gives up after half a second."""
    monkeypatch.setattr(backend, "_WRITE", backend._WRITE.replace("'30s'", "'500ms'"))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    return lambda f: monkeypatch.setattr(Steps, "hook", staticmethod(f))
