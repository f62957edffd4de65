"""A life that is lived through the public API, by a database on the engine "local"."""

import tempfile
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from pathlib import Path

import ripplenest as rn
from ripplenest import Database
from support.crashes import Tell
from support.lives import SOURCE, Life
from support.states import MEMORY


class ApiLife(Life[Database]):
    """What is done stands in ``steps``."""

    @abstractmethod
    def steps(self, db: Database, acknowledge: Callable[[], None]) -> None:
        """``go_on``, where ``acknowledge`` tells the version and the batches that there are."""

    def open(self, folder: Path) -> Database:
        return rn.open(folder, engine="local")

    def live(self, folder: Path, tell: Tell) -> None:
        with self.open(folder) as db:
            self.go_on(db, tell)

    def go_on(self, handle: Database, tell: Tell) -> None:
        def acknowledge() -> None:
            tell(f"{handle.version} {batches(handle)}")

        acknowledge()
        self.steps(handle, acknowledge)

    @property
    def last(self) -> str:
        return _undisturbed(type(self))


@cache
def _undisturbed(life: type[ApiLife]) -> str:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        one = life()
        one.live(Path(folder) / "state", lambda _: None)
        with one.open(Path(folder) / "state") as db:
            return one.digest(db)


def batches(db: Database) -> int:
    """How many batches were applied."""
    return db._store.last_seq(SOURCE) or 0
