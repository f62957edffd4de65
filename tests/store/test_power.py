"""R9: when the power fails, every acknowledged batch is there, and what was under way is there whole or not at all.

The life of a store is recorded twice: as system calls, which include SQLite's, and at the ``Disk`` seam, where calls
cannot be traced. After each event the disk is made anew as it might be found, with any of the unsynced changes lost,
and opened. That the model is able to lose something is seen by leaving out one kind of fsync: then batches are gone.
"""

import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from support.compiling import compiled_once
from support.crashes import Tell
from support.database_life import DatabaseLife
from support.events import Event, Make, Remove, Said, Sync, Write
from support.lives import Life, merging_soon, told
from support.power import Cut, cuts, image_of, materialise
from support.reports import Run, reported
from support.seam import seam_events
from support.states import MEMORY
from support.store_life import StoreLife
from support.traces import events_of, refused

from ripplenest.nrc.errors import RipplenestError

FAST = 18  # cuts of each recording
KILLED, AT_ONCE = 3, 25  # processes, and cuts while the one after each of them begins
EACH, KILLS, CUTS, DATABASE_CUTS = 4, 25, 40, 600  # in the long run
Record = Callable[[Callable[[Tell], None], Path], list[Event]]
LOST = (AssertionError, RipplenestError)


pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module", params=["system calls", "seam"])
def record(request) -> Record:
    if request.param == "seam":
        return seam_events
    if why := refused():
        pytest.skip(f"no power cuts at system calls: {why}")
    return events_of


@cache
def recorded(record: Record, life: Life) -> list[Event]:
    """One life, from an empty folder on."""
    with merging_soon(), compiled_once(), tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(folder).resolve()
        return record(lambda tell: life.live(root / "state", tell), root)


def survives(life: Life, cut: Cut, folder: Path) -> None:
    materialise(cut.image, folder)
    try:
        life.recovers(folder / "state", cut.said)
    except LOST as e:
        raise AssertionError(f"{cut}: {e}") from e


def test_some_power_cuts(record, memory):
    found = list(cuts(recorded(record, StoreLife()), Random(9), 2))
    chosen = Random(9).sample(found, FAST)
    assert sum(cut.lost > 0 for cut in chosen) > FAST // 2 and any(told(cut.said) > (1, 0) for cut in chosen)
    for i, cut in enumerate(chosen):
        survives(StoreLife(), cut, memory / str(i))


FORGOTTEN = {
    "a segment": lambda path: path.endswith((".deltas", ".merges")),
    "names of segments": lambda path: path.endswith("segments"),
}
DEEPER = {
    "the name of the state": lambda path: path == "",
    "the catalogue": lambda path: path.endswith(".sqlite"),
    "the journal": lambda path: path.endswith("-journal"),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_a_forgotten_fsync_is_noticed(record, memory, what):
    """The model itself: without this fsync, an acknowledged batch is lost, or the state does not open."""
    assert noticed(recorded(record, StoreLife()), FORGOTTEN[what], memory)


@pytest.mark.parametrize("what", DEEPER)
def test_a_forgotten_fsync_below_the_seam_is_noticed(memory, what):
    if why := refused():
        pytest.skip(why)
    assert noticed(recorded(events_of, StoreLife()), DEEPER[what], memory)


def noticed(events: list[Event], forgotten: Callable[[str], bool], memory: Path) -> bool:
    """Whether some cut loses something when no file is synced for whose path ``forgotten`` is true."""
    kept = [e for e in events if not (isinstance(e, Sync) and forgotten(e.path))]
    assert len(kept) < len(events)
    found = [cut for cut in cuts(kept, Random(1), 1) if isinstance(kept[cut.after - 1], Said | Sync)]
    return any(lost(StoreLife(), cut, memory / str(i)) for i, cut in enumerate(found))


def lost(life: StoreLife, cut: Cut, folder: Path) -> bool:
    """Whether something is wrong after ``cut``."""
    materialise(cut.image, folder)
    try:
        with life.open(folder / "state") as store:
            life.examine(store, cut.said)
    except LOST:
        return True
    return False


def test_what_is_synced_stays_and_the_rest_may_go():
    """The model by itself: which contents of one file are possible after each event (None: no file)."""
    a, b = b"a" * 1000, b"b" * 600
    events = [Make("f"), Write("f", 0, a), Sync("f"), Write("f", 700, b), Sync(""), Remove("f"), Sync("")]
    images: dict[int, set[bytes | None]] = {i: set() for i in range(1, 8)}
    for cut in cuts(events, Random(1), 200, every=True):
        images[cut.after].add(cut.image.get("f"))
    assert images[1] == {None, b""}
    torn = {a[:512], bytes(512) + a[512:], bytes(1000)}
    assert images[2] == {None, b"", a} | torn
    assert images[3] == {None, a}
    unsynced = {a[:700] + b, a, a[:700] + b[:324], a + bytes(300), a[:700] + b[:324] + b[324:]}
    assert images[4] > {None, *unsynced} and all(x is None or x.startswith(a[:700]) for x in images[4])
    assert images[5] == images[4] - {None}
    assert images[6] == images[4]
    assert images[7] == {None}


# ---------------------------------------------------------------- long


@pytest.mark.long
def test_every_power_cut(record, memory):
    name = "power-calls" if record is events_of else "power-seam"
    with reported(name, "power cuts after every event of a store's life", "cuts", "with something lost") as run:
        cut_all(StoreLife(), cuts(recorded(record, StoreLife()), Random(run.seed), EACH), memory, run)


@pytest.mark.long
def test_power_cuts_of_a_database(memory):
    if why := refused():
        pytest.skip(why)
    with reported("power-database", "power cuts in a database's life", "cuts", "with something lost") as run:
        chance = Random(run.seed)
        found = list(cuts(recorded(events_of, DatabaseLife()), chance, 1))
        cut_all(DatabaseLife(), chance.sample(found, DATABASE_CUTS), memory, run)


@pytest.mark.long
def test_a_power_cut_after_a_kill(memory):
    """A process is killed, another one goes on, and then the power fails: what the first had not synced can be lost."""
    if why := refused():
        pytest.skip(why)
    life = StoreLife()
    with reported("power-after-kill", "a kill, a recovery, and then a power cut", "kills", "cuts") as run:
        chance, events = Random(run.seed), recorded(events_of, life)
        for after in sorted({*range(1, 8), *chance.sample(range(8, len(events)), KILLS)}):  # the first make the state
            found = list(cuts(killed_and_recovered(life, events[:after], memory / f"killed {after}"), chance, 1))
            run.count("kills")
            later = [cut for cut in found if cut.after > after]
            cut_all(life, chance.sample(later, min(CUTS, len(later))), memory, run)


def ends_of_journals(events: list[Event]) -> list[int]:
    """After how many events a process has said that its journal is of no transaction, and has not synced that yet."""
    found = [i for i, e in enumerate(events, 1) if isinstance(e, Write) and e.path.endswith("-journal")]
    return [i for i in found if (e := events[i - 1]) and isinstance(e, Write) and not (e.offset or any(e.data))]


def test_a_power_cut_after_a_kill_at_the_end_of_a_commit(memory):
    """What the next process reads as committed, and goes on from, is there when the power fails."""
    if why := refused():
        pytest.skip(why)
    life, lost = StoreLife(), 0
    events = recorded(events_of, life)
    for after in Random(5).sample(ends_of_journals(events)[1:], KILLED):
        found = list(cuts(killed_and_recovered(life, events[:after], memory / f"killed {after}"), Random(after), 2))
        for i, cut in enumerate([cut for cut in found if cut.after > after][:AT_ONCE]):
            survives(life, cut, memory / f"{after} {i}")
            lost += cut.lost > 0
    assert lost > KILLED


def killed_and_recovered(life: Life, events: list[Event], folder: Path) -> list[Event]:
    """``events`` of a process that was killed, and those of the one that came after it."""
    killed = image_of(events)
    materialise(killed, folder)
    return [*events, *events_of(lambda tell: life.live(folder / "state", tell), folder, killed)]


def cut_all(life: Life, found: Iterable[Cut], memory: Path, run: Run) -> None:
    for cut in found:
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            survives(life, cut, Path(folder) / "disk")
        run.count("cuts")
        run.count("with something lost", cut.lost > 0)
