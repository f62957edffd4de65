"""R13, R14: writers in several processes make one history, whoever of them dies; readers see its prefixes in order.

Writer ``w`` commits the rows (w, 1), (w, 2), … as batches of its own source. So what any version must hold follows from
the versions of the batches, and a lost, repeated or reordered batch shows in every version after it.
"""

import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from threading import Timer

import pytest
from support.crashes import Child, Tell, stepping
from support.lives import leftovers
from support.reports import Run, reported
from support.states import MEMORY

from ripplenest.data.rows import Rows
from ripplenest.errors import Stale
from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec
from ripplenest.store.database import backend

TYPES = (Base("long"), Base("long"))
SPEC = TableSpec("t", TYPES, ((0,),))


@pytest.fixture
def state():
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder).resolve() / "state"
        with Store.open(path) as store:
            store.commit(Change(tables=(SPEC,)), 0)
        yield path


def writes(path: Path, w: int, batches: int, tell: Tell) -> None:
    """Commit what is left of the ``batches`` of writer ``w``, however often others come first; tell each."""
    with Store.open(path) as store:
        for seq in range((store.last_seq(f"w{w}") or 0) + 1, batches + 1):
            rows = {"t": Rows.of_counts(TYPES, {(w, seq): 1})}
            while True:
                parent = store.version
                change = Change(rows, source=f"w{w}", seq=seq, digest=f"{w} {seq}", note={"parent": parent})
                try:
                    tell(f"{store.commit(change, parent)} {seq}")
                except Stale:
                    tell("stale")
                    continue
                break


def tidies(path: Path, tell: Tell) -> None:
    """Compact and vacuum until killed; tell how many versions went."""
    with Store.open(path) as store:
        while True:
            store.compact(everything=True)
            tell(store.vacuum(5).versions)


def one_history(path: Path, writers: int, batches: int) -> int:
    """Every batch of every writer is in exactly one version, in its order, and every version is what came before it.

    The newest version.
    """
    with Store.open(path) as store:
        made: list[int] = []
        for w in range(writers):
            applied = [store.applied(f"w{w}", seq) for seq in range(1, batches + 1)]
            versions = [a.version for a in applied if a is not None]
            assert len(versions) == batches and versions == sorted(set(versions)), (w, versions)
            assert [a.digest for a in applied if a] == [f"{w} {seq}" for seq in range(1, batches + 1)]
            assert store.applied(f"w{w}", batches + 1) is None
            made += versions
        assert len(set(made)) == writers * batches
        kept = {entry.version: entry for entry in store.history()}
        assert sorted(kept) == list(range(min(kept), store.version + 1))
        wanted = {(w, seq): 1 for w in range(writers) for seq in range(1, batches + 1)}
        for n in sorted(kept.keys() - {0}, reverse=True):  # there was no table in version 0
            assert store.snapshot(n).scan("t").counts() == wanted, n
            if (source := kept[n].source) is not None:
                assert kept[n].note == {"parent": n - 1}, kept[n]
                w = int(source[1:])
                del wanted[w, sum(1 for k, _ in wanted if k == w)]
        store.commit(Change(), store.version)
        assert leftovers(path, store) == []
        return max(kept)


class Reader:
    """Reads the newest version again and again: each a prefix of history, and never an older one than before."""

    def __init__(self, store: Store) -> None:
        self._store, self.last, self.seen, self.pinned = store, 0, Counter[int](), store.snapshot()
        self._was = self.pinned.scan("t").counts()

    def read(self) -> None:
        snapshot = self._store.snapshot()
        assert snapshot.version >= self.last
        self.last = snapshot.version
        rows = self._rows(snapshot)
        if rows is not None:
            self.seen[snapshot.version] += 1
            counts = Counter(w for w, _ in rows)
            assert rows == {(w, seq): 1 for w in counts for seq in range(1, counts[w] + 1)}
            probed = self._rows(snapshot, lambda s: s.probe("t", (0,), [(0,)]))
            assert probed is None or probed == {(0, seq): 1 for seq in range(1, counts[0] + 1)}

    def _rows(self, snapshot, read=lambda s: s.scan("t")):
        """The rows; None when the version has gone meanwhile, which is said as such."""
        try:
            return read(snapshot).counts()
        except StateError as e:
            assert not isinstance(e, CorruptState) and "no longer kept" in str(e), e
            return None


def race(path: Path, batches: int, tidy: bool, run: Run) -> None:
    """Two writers, each in its process, and a third that compacts and vacuums, while this process reads."""
    writers = [Child(lambda tell, w=w: writes(path, w, batches, tell)) for w in (0, 1)]
    tidying = Child(lambda tell: tidies(path, tell)) if tidy else None
    with Store.open(path) as store:
        reader = Reader(store)
        while any(not w.ended for w in writers):
            reader.read()
        reader.read()
    for line in (line for child in writers for line in child.end().said):
        run.count("stale" if line == "stale" else "committed")
    run.count("versions read", len(reader.seen))
    if tidying is not None:
        run.count("versions forgotten", next(n for line in tidying.lines() if (n := int(line))))
        tidying.kill()
        run.count("versions forgotten", sum(map(int, tidying.end().said)))


def test_two_writers_make_one_history(state):
    run = Run(0)
    race(state, 30, False, run)
    assert one_history(state, 2, 30) == 61
    assert run.counts["committed"] == 60 and run.counts["versions read"] > 2, run


def test_two_writers_and_one_that_tidies(state):
    run = Run(0)
    race(state, 15, True, run)
    assert one_history(state, 2, 15) >= 31
    assert run.counts["committed"] == 30 and run.counts["versions forgotten"], run


@pytest.mark.long
@pytest.mark.parametrize("tidy", [False, True])
def test_two_writers_for_long(state, tidy):
    name, what = ("writers-tidied", ", compactions and vacuums") if tidy else ("writers", "")
    with reported(name, f"two writers, 400 commits, a reader{what}", "committed", "stale", "versions read") as run:
        race(state, 200, tidy, run)
        one_history(state, 2, 200)


# ---------------------------------------------------------------- writers that die


class Mortal:
    """Writer ``w``, who begins again after each death."""

    def __init__(self, path: Path, w: int, batches: int) -> None:
        self._path, self._w, self._batches = path, w, batches
        self.last = 0  # the last batch that is in the state
        self._begin()

    def _begin(self) -> None:
        self._child = Child(lambda tell: writes(self._path, self._w, self._batches, tell))
        self._lines, self._told = self._child.lines(), self.last

    def works(self) -> bool:
        """Let it tell something; False when it is done."""
        line = next(self._lines, None)
        self._hear(line)
        return line is not None or self.dies()

    def dies(self) -> bool:
        """Kill it, and see that nothing acknowledged is lost. Whether there was something left to do."""
        self._child.kill()
        for line in self._child.end().said:
            self._hear(line)
        with Store.open(self._path) as store:
            self.last = store.last_seq(f"w{self._w}") or 0
        assert self.last - self._told in (0, 1), f"{self._told} was acknowledged, {self.last} found"
        if self.last < self._batches:
            self._begin()
        return self.last < self._batches

    def _hear(self, line: str | None) -> None:
        if line is not None and line != "stale":
            self._told = int(line.split()[1])


def killings(path: Path, writers: int, batches: int, chance: Random, run: Run) -> None:
    """Writers at work; now and then one of them is killed, and begins again, until all is done."""
    at_work = [Mortal(path, w, batches) for w in range(writers)]
    while at_work:
        writer = chance.choice(at_work)
        goes_on = writer.works()
        if goes_on and chance.randrange(2):
            time.sleep(chance.uniform(0, 0.01))
            goes_on = writer.dies()
            run.count("kills")
        if not goes_on:
            at_work.remove(writer)
    one_history(path, writers, batches)
    run.count("commits", writers * batches)


def test_three_writers_that_die(state):
    run = Run(13)
    killings(state, 3, 6, Random(run.seed), run)
    assert run.counts["kills"] > 2, run


@pytest.mark.long
def test_three_writers_that_die_often(state):
    with reported("writers-killed", "three writers that are killed in the middle", "kills", "commits") as run:
        killings(state, 3, 120, Random(run.seed), run)


def holding(path: Path, tell: Tell) -> None:
    """Stop in the middle of a commit, with the lock."""

    def hook(what: str, name: str) -> None:
        if what == "names" and name.endswith("segments"):
            tell("holding")
            time.sleep(60)

    with stepping(hook):
        writes(path, 7, 1, tell)


def held(path: Path) -> Child:
    child = Child(lambda tell: holding(path, tell))
    assert next(child.lines()) == "holding"
    return child


def test_the_lock_of_a_dead_writer_is_free(state):
    """The next writer waits while the owner lives, goes on when it is dead, and removes what it had written."""
    child = held(state)
    assert len(list((state / "segments").iterdir())) == 1
    with Store.open(state) as store:
        started = time.monotonic()
        Timer(0.4, child.kill).start()
        assert store.commit(Change({"t": Rows.of_counts(TYPES, {(0, 1): 1})}), 1) == 2
        assert 0.3 < time.monotonic() - started < 5
        assert store.snapshot().scan("t").counts() == {(0, 1): 1} and leftovers(state, store) == []
        assert len(list((state / "segments").iterdir())) == 1
    assert child.end().killed


def test_readers_do_not_wait_for_a_writer(state):
    child = held(state)
    with Store.open(state) as store:
        started = time.monotonic()
        assert store.version == 1 and store.snapshot().scan("t").counts() == {}
        assert time.monotonic() - started < 1
    child.kill()
    assert child.end().killed


def test_a_writer_that_waits_too_long_is_told_so(state, monkeypatch):
    monkeypatch.setattr(backend, "BUSY_SECONDS", 0.2)
    child = held(state)
    with Store.open(state) as store:
        with pytest.raises(StateError, match="cannot be used now") as caught:
            store.commit(Change({"t": Rows.of_counts(TYPES, {(0, 1): 1})}), 1)
        assert "BUSY" in str(caught.value.got)
        child.kill()
        child.end()
        assert store.commit(Change({"t": Rows.of_counts(TYPES, {(0, 1): 1})}), 1) == 2
