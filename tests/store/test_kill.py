"""R8: a process that is killed at any step leaves version n or n+1, and sending everything again gives the exact state.

A forked child ends itself with SIGKILL before the step. A step is an operation on files, an SQL statement that changes
something, and the moments before and after the commit of a transaction.
"""

import shutil
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from support.crashes import Child, Tell, frozen_at, killed_at, stepping, steps_of
from support.database_life import DatabaseLife
from support.lives import Life, leftovers
from support.redefine_life import RedefineLife
from support.reports import Run, reported
from support.store_life import StoreLife

REAL = 15  # one kill of so many
FAST_DATABASE = 4  # of about 400 steps
CLOCK = 300
DEFINED = 12  # about so many of the steps at which definitions are killed


pytestmark = pytest.mark.usefixtures("quick")


def kill(life: Life, folder: Path, step: int, before: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """Kill ``life`` at ``step``: what was said until then; None when it ended without getting there."""
    ended = killed_at(step, lambda tell: life.live(folder, tell))
    return (*before, *ended.said) if ended.killed else None


def test_killed_at_every_step(memory):
    """Each step once, but of the statements of a transaction the first and the last only. Most of these kills are
    copies of the folder at that moment; the long run has real ones at every step."""
    life = StoreLife()
    steps = [what for what, _ in steps_of(lambda tell: life.live(memory / "undisturbed", tell))]
    with life.open(memory / "undisturbed") as store:
        assert leftovers(memory / "undisturbed", store) == []
    life.complete(memory / "undisturbed")
    met = Counter(steps)
    assert all(met[what] for what in ("folder", "create", "write", "sync", "names", "remove", "sql", "commit")), met
    frozen = frozen_at(lambda tell: life.live(memory / "state", tell), memory / "state", memory)
    assert len(frozen) == len(steps) > 100
    for step, (state, said) in enumerate(frozen, 1):
        if step % REAL == 0:
            shutil.rmtree(state)
            assert kill(life, state, step) == said
        if steps[step - 2 : step + 1] != ["sql"] * 3:
            life.recovers(state, said)
    assert kill(life, memory / "after", len(steps) + 1) is None


def test_definitions_are_whole_or_not_there_wherever_they_are_killed(memory):
    """A view replaced or dropped and a field added, killed at steps all over: copies of the folder at that moment."""
    life = RedefineLife()
    frozen = frozen_at(lambda tell: life.live(memory / "state", tell), memory / "state", memory)
    assert len(frozen) > 150
    for state, said in frozen[:: len(frozen) // DEFINED]:
        life.recovers(state, said)


@pytest.mark.long
def test_definitions_are_killed_at_every_step(memory):
    life = RedefineLife()
    for state, said in frozen_at(lambda tell: life.live(memory / "state", tell), memory / "state", memory):
        life.recovers(state, said)


def sample(folder: Path, life: Life, steps: list[int]) -> None:
    for step in steps:
        said = kill(life, folder / str(step), step)
        assert said is not None, step
        life.recovers(folder / str(step), said)


def test_a_database_killed_at_some_steps(memory):
    life = DatabaseLife()
    steps = steps_of(lambda tell: life.live(memory / "undisturbed", tell))
    sample(memory, life, Random(8).sample(range(1, len(steps) + 1), FAST_DATABASE))


@pytest.mark.long
def test_a_database_killed_at_every_step(memory):
    life = DatabaseLife()
    with reported("kill-database", "a database killed at every step", "crash points") as run:
        steps = steps_of(lambda tell: life.live(memory / "undisturbed", tell))
        sample(memory, life, list(range(1, len(steps) + 1)))
        run.count("crash points", len(steps))


@pytest.mark.long
@pytest.mark.parametrize("half", [1, 2])
def test_killed_twice(memory, half):
    """All pairs, in two halves: at step i, and then at step j of the process that came after it."""
    life, expected = StoreLife(batches=4), ("pairs", "second kills that were not copies")
    with reported(f"kill-twice-{half}", "a store killed at every step, and at every step after that", *expected) as run:
        first = half
        while (said := kill(life, memory / "first", first)) is not None:
            killed_again(life, memory, said, run)
            shutil.rmtree(memory / "first", ignore_errors=True)
            run.count("first kills")
            first += 2


def killed_again(life: Life, memory: Path, said: tuple[str, ...], run: Run) -> None:
    """Kill the next process, at each of its steps, in the folder ``first``."""
    begin(memory)
    frozen = frozen_at(lambda tell: life.live(memory / "second", tell), memory / "second", memory)
    life.complete(memory / "second")
    for step, (state, more) in enumerate(frozen, 1):
        if step % REAL == 0:
            begin(memory)
            assert kill(life, memory / "second", step, said) == (*said, *more)
            life.recovers(memory / "second", (*said, *more))
            run.count("second kills that were not copies")
        else:
            life.recovers(state, (*said, *more))
        shutil.rmtree(state, ignore_errors=True)
        run.count("pairs")
    shutil.rmtree(memory / "second")


def begin(memory: Path) -> None:
    """The second process finds what the first one left, if it left anything."""
    shutil.rmtree(memory / "second", ignore_errors=True)
    if (memory / "first").exists():
        shutil.copytree(memory / "first", memory / "second")


@pytest.mark.long
def test_killed_by_a_clock(tmp_path):
    """Somewhere inside SQLite's own commit: the parent kills a random while after it began, on a disk with fsync."""
    life = StoreLife()
    with reported("kill-clock", "a store killed at random moments of SQLite's commits", "kills", "hot journals") as run:
        chance = Random(run.seed)
        for i in range(CLOCK):
            state = tmp_path / str(i)
            said = clocked(life, state, chance.randrange(1, 7), chance.uniform(0, 0.006))
            run.count("kills")
            journal = state / "catalogue.sqlite-journal"
            run.count("hot journals", journal.exists() and any(journal.read_bytes()[:28]))
            life.recovers(state, said)
            shutil.rmtree(state)


def clocked(life: Life, state: Path, commit: int, seconds: float) -> list[str]:
    """Kill ``life`` some ``seconds`` after its commit number ``commit`` began: what it had said."""

    def body(tell: Tell) -> None:
        def hook(what: str, name: str) -> None:
            if (what, name) == ("commit", "before"):
                tell("commit")

        with stepping(hook):
            life.live(state, tell)

    child, said = Child(body), []
    for line in child.lines():
        said.append(line)
        if said.count("commit") == commit and line == "commit":
            time.sleep(seconds)
            child.kill()
    child.end()
    return [line for line in said if line != "commit"]
