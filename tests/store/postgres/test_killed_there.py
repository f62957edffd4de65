"""Killed at any step, of the disk and of the conversation with the server."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from support.postgres import Server
from support.postgres_states import PAIR, Steps, ended, files, forked, named, one, schema_of, schemas

from ripplenest.store import Change, Store, merging
from ripplenest.store.folder import MARKER

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server

SAMPLE = 20
KEEP = 3  # so that each commit forgets a version and removes files

Point = tuple[str, int]  # a kind of step, and which of that kind


class Kill:
    """Ends this process at the step ``at``, or writes the steps that it took to ``pipe``."""

    def __init__(self, at: Point | None, pipe: int) -> None:
        self._at, self._pipe, self.seen = at, pipe, []
        Steps.hook = staticmethod(self.step)
        event.listen(sa.Engine, "before_cursor_execute", lambda *said: self.step(said[2].split()[0]))
        event.listen(sa.Engine, "commit", lambda _: self.step("COMMIT"))

    def step(self, what: str) -> None:
        self.seen.append((what, sum(kind == what for kind, _ in self.seen)))
        if self.seen[-1] == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def end(self) -> None:
        self.step("end")
        os.write(self._pipe, json.dumps(self.seen).encode())


def killed_at(at: Point | None, work: Callable[[], object]) -> list[Point] | None:
    """The steps of ``work`` in a process of its own; None when that was killed at the step ``at``."""
    read, write = os.pipe()

    def child():
        kill = Kill(at, write)
        work()
        kill.end()

    status = ended(forked(child))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    assert status == (0 if said else -signal.SIGKILL)
    return [(what, n) for what, n in json.loads(said)] if said else None


def chosen(points: list[Point], sample: int | None) -> list[Point]:
    """All steps, or ``sample`` of them, evenly spread but for the last three, which come after a commit."""
    if sample is None:
        return points
    return [points[i * (len(points) - 4) // (sample - 4)] for i in range(sample - 3)] + points[-3:]


def commit_next(state: Path) -> None:
    with Store.open(state, Steps) as s:
        s.commit(one(s.version), s.version)


def check_killed_commits(state: Path, sample: int | None) -> int:
    """Commits killed at each step: version n or n + 1, nothing left over, and the batch again gives the exact state."""
    with Store.open(state, retain=KEEP) as s:
        s.commit(Change(tables=(PAIR,)), 0)
        for i in range(1, 2 * KEEP):
            s.commit(one(i), i)
        steps = killed_at(None, lambda: commit_next(state))
        wanted = {"SET", "INSERT", "UPDATE", "DELETE", "COMMIT", "create", "write", "sync", "names", "remove", "end"}
        assert wanted <= {what for what, _ in steps}
        outcomes = []
        for at in chosen(steps, sample):
            n = s.version
            if killed_at(at, lambda: commit_next(state)) is None:
                outcomes.append(s.version - n)
            assert s.applied("shop", n) is None or s.version == n + 1
            check_exact(s)
            if sample is None:
                check_next(state)
        check_next(state)
    assert set(outcomes) == {0, 1}
    return len(outcomes)


def check_exact(s: Store) -> None:
    """Batches 1, 2, … each once, and the last versions of them."""
    n = s.version
    assert s.snapshot().scan("pair").counts() == {(i, "shop"): 1 for i in range(1, n)}
    assert [(e.version, e.seq) for e in s.history()] == [(i, i - 1) for i in range(n, n - KEEP - 1, -1)]


def check_next(state: Path) -> None:
    """The next process commits what was lost, if it was, and removes what was left over."""
    with Store.open(state) as s:
        n = s.version
        assert s.commit(one(n), n) == n + 1
        check_exact(s)
        assert files(state) == named(s) and s.check_segments()


def check_killed_openings(folder: Path, server: Server, sample: int | None) -> int:
    """A new state killed at each step of being made: it opens, once in the database, with nothing left over."""
    steps = killed_at(None, lambda: Store.open(folder / "whole", Steps).close())
    wanted = {"root folder", "root link", "root remove", "CREATE", "INSERT", "COMMIT", "folder", "end"}
    assert wanted <= {what for what, _ in steps}
    killed = 0
    for i, at in enumerate(chosen(steps, sample)):
        state, before = folder / str(i), schemas(server, "states")
        killed += killed_at(at, lambda state=state: Store.open(state, Steps).close()) is None
        with Store.open(state) as s:
            assert s.version == 0 and s.commit(Change(tables=(PAIR,)), 0) == 1 and s.commit(one(1), 1) == 2
        Store.open(state).close()
        assert {p.name for p in state.iterdir()} == {MARKER, "segments"}
        assert schemas(server, "states") - before == {schema_of(state)}
    return killed


@pytest.fixture
def merging_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FANOUT", 2)
    monkeypatch.setattr(merging, "TIER_ROWS", 4)


@pytest.mark.usefixtures("merging_always")
def test_a_commit_killed_at_some_steps(tmp_path):
    assert check_killed_commits(tmp_path / "state", SAMPLE) >= SAMPLE - 2


def test_a_new_state_killed_at_some_steps(tmp_path, server):
    assert check_killed_openings(tmp_path, server, 5) == 5


@pytest.mark.long
@pytest.mark.usefixtures("merging_always")
def test_a_commit_killed_at_every_step(tmp_path):
    assert check_killed_commits(tmp_path / "state", None) > 53


@pytest.mark.long
def test_a_new_state_killed_at_every_step(tmp_path, server):
    assert check_killed_openings(tmp_path, server, None) > 40
