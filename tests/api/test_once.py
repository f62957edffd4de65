"""R12: a batch is applied once, however often, in whatever order and through whichever object it comes again.

The model is the list of batches by source: the next seq is applied, one that was applied is answered with its version,
or refused when its content is another one, and everything else is a gap. Whatever is refused changes nothing.
"""

import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.reports import reported
from support.shop import movie, movies, opened
from support.states import MEMORY, state

from ripplenest import Database
from ripplenest.errors import BatchConflict, BatchGap

SOURCES = ("shop", "web", "shop ")
OUTCOMES = ("applied", "repeated", "conflict", "gap")


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY) as found:
        with opened(Path(found) / "state") as db:
            db.create(movies)
        yield Path(found) / "state"


def films(source: str, seq: int, variant: int) -> list[dict[str, Any]]:
    """The rows of a batch: a film that is in every batch, and one of its own; variants differ in the latter."""
    return [movie("Drive"), movie(f"{source} {seq}", "Drama" if variant else "Action")]


def send(db: Database, source: str, seq: int, variant: int = 0, backwards: bool = False) -> int:
    """The version that says that the batch is safe. Rows have no order, so ``backwards`` is the same batch."""
    with db.batch(source, seq) as b:
        b.insert("M", films(source, seq, variant)[:: -1 if backwards else 1])
    return b.report.version


def again(folder: Path, times: int) -> None:
    """One batch, ``times`` times: in one object, in another one, after others, and after reopening."""
    with opened(folder) as db, opened(folder) as other:
        version = send(db, "shop", 1)
        send(other, "web", 1)
        before, files = state(db), sorted(p.name for p in (folder / "segments").iterdir())
        for i in range(times):
            assert send((db, other)[i % 2], "shop", 1, backwards=i % 3 == 0) == version
            assert not (db, other)[i % 2].report.applied
            if i % 10 == 0:
                with opened(folder) as third:
                    assert send(third, "shop", 1) == version
        assert state(db) == state(other) == before
        assert sorted(p.name for p in (folder / "segments").iterdir()) == files


def test_the_same_batch_many_times(folder):
    again(folder, 50)


@pytest.mark.long
def test_the_same_batch_a_thousand_times(folder):
    with reported("once", "one batch again and again", "times") as run:
        again(folder, 1000)
        run.count("times", 1000)


@pytest.mark.parametrize(
    "rows",
    [
        [movie("Drive")],
        [movie("Drive"), movie("shop 1", "Action"), movie("shop 1", "Action")],
        [movie("Drive"), movie("shop 1", None)],
        [],
    ],
    ids=["fewer", "more", "other", "none"],
)
def test_the_same_id_with_other_content(folder, rows):
    with opened(folder) as db:
        send(db, "shop", 1)
        before = state(db)
        with pytest.raises(BatchConflict) as caught, db.batch("shop", 1) as b:
            b.insert("M", rows)
        assert caught.value.where == "batch shop:1" and state(db) == before
        with pytest.raises(BatchConflict), db.batch("shop", 1) as b:
            b.delete("M", films("shop", 1, 0))
        assert state(db) == before and send(db, "shop", 2)


def test_gaps_say_what_was_expected(folder):
    with opened(folder) as db:
        send(db, "shop", 5)  # the first is free
        for wrong in (7, 4, 0, -1, 2**63 - 1):
            before = state(db)
            with pytest.raises(BatchGap) as caught:
                send(db, "shop", wrong)
            assert (caught.value.wanted, caught.value.got) == (6, wrong) and state(db) == before
        send(db, "shop", 6)
        send(db, "web", -3)
        assert send(db, "web", -2) == db.version


class Client:
    """Sends batches of several sources and knows what must come of each."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.folder, self.chance = folder, chance
        self.open = [opened(folder), opened(folder)]
        self.known: dict[str, dict[int, tuple[int, int]]] = {s: {} for s in SOURCES}  # seq: variant, version
        self.met: Counter[str] = Counter()

    def step(self) -> None:
        """One batch or, now and then, another process or a vacuum."""
        place = self.chance.randrange(2)
        event = self.chance.randrange(12)
        if event == 0:
            self.open[place].close()
            self.open[place] = opened(self.folder)
            self.met["reopened"] += 1
        elif event == 1:
            self.open[place]._store.vacuum(self.chance.randrange(3))
            self.met["vacuumed"] += 1
        source = self.chance.choice(SOURCES)
        last = max(self.known[source], default=self.chance.randrange(3))
        seq = last + self.chance.choice([1, 1, 1, 0, 0, -1, -5, 2])
        self.send(self.open[place], source, seq, self.chance.choice([0, 0, 0, 1]))

    def send(self, db: Database, source: str, seq: int, variant: int) -> None:
        wanted = self.wanted(source, seq, variant)
        version = db.version
        try:
            answer = send(db, source, seq, variant, self.chance.randrange(2) == 0)
        except (BatchConflict, BatchGap) as e:
            assert wanted == type(e).__name__.removeprefix("Batch").lower(), (wanted, e)
        else:
            assert wanted in ("applied", "repeated"), wanted
            self.known[source].setdefault(seq, (variant, version + 1))
            assert answer == self.known[source][seq][1] and db.report.applied == (wanted == "applied")
        assert db.version == version + (wanted == "applied")
        assert db.sources == {s: max(known) for s, known in self.known.items() if known}
        self.met[wanted] += 1

    def wanted(self, source: str, seq: int, variant: int) -> str:
        known = self.known[source]
        if seq in known:
            return "repeated" if known[seq][0] == variant else "conflict"
        return "applied" if not known or seq == max(known) + 1 else "gap"

    def check(self) -> None:
        """Every batch is in the view once."""
        rows = [row for s, known in self.known.items() for seq, (v, _) in known.items() for row in films(s, seq, v)]
        for db in self.open:
            assert db.view("movies").rows() == movies(M=rows)
            db.close()


def interleaved(folder: Path, steps: int, chance: Random) -> Counter[str]:
    client = Client(folder, chance)
    for _ in range(steps):
        client.step()
    client.check()
    return client.met


def test_three_sources_interleaved(folder):
    met = interleaved(folder, 120, Random(12))
    assert all(met[what] >= 2 for what in (*OUTCOMES, "reopened", "vacuumed")), met


@pytest.mark.long
def test_three_sources_interleaved_for_long(folder):
    with reported("once-interleaved", "batches of three sources, in any order", *OUTCOMES) as run:
        run.counts.update(interleaved(folder, 2000, Random(run.seed)))
