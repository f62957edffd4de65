"""Random states against a plain list of accepted batches.

``test_views_are_their_definitions_after_every_batch``: P1. After every batch each view is its definition on a plain
list of all rows; batches mix inserts, deletes, upserts and deep updates on a keyed nested relation and an unkeyed flat
one.

``test_a_state_survives``: P1 to P7. Everything else that can happen to a state is mixed with such batches: processes
that die at any step, disks that refuse, retries, other handles, compaction, old versions, rollbacks, damaged copies.
The long run draws other states each time, 240 of them, or for as long as RIPPLENEST_MINUTES says, and names the seed
of one that fails; RIPPLENEST_SEED=n runs that one alone.
"""

import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from support.choices import Choices
from support.compiling import compiled_once
from support.fate import Fate, one_fate
from support.laws import law
from support.machine import HAPPENS, Machine
from support.reports import reported
from support.shop import ANN, BOB, FILMS, best, opened
from support.shop import VIEWS as PLAIN
from support.shop_model import OPERATIONS, Model
from support.sizes import many
from support.states import MEMORY, state

from ripplenest import Database
from ripplenest.delta.materialize import MODES
from ripplenest.run import policy

VIEWS = (*PLAIN, best)
COUNTS: Counter[str] = Counter()
MARGINS = (0.75, 1.0, 1.5, 2.0)  # so that triggers are tried at times


def check(db: Database, model: Model) -> None:
    rows = {"C": model.customers, "M": model.films}
    for view in VIEWS:
        given_rows = {name: rows[name] for name, _ in view.query.relations}
        assert db.view(view.name).rows() == view(**given_rows), view.name


@pytest.fixture(scope="module", autouse=True)
def once():
    """Compiling six views takes longer than a whole example. However little there is to do, "auto" thinks about it."""
    with compiled_once(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "SMALL", 0)
        yield


@law(examples=many(9, 50), tries=200)
def test_views_are_their_definitions_after_every_batch(c):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        db, model = opened(folder), Model(c)
        if c.number(4):
            model.load()
            db.load("C", [ANN, BOB])
            db.load("M", FILMS)
        late, mode = c.number(4), c.pick(MODES)
        for seq in range(1, 2 + c.number(4) + 1):
            if seq == late:  # views over rows that are there already
                COUNTS["built late"] += bool(model.customers)
            if seq >= max(late, 1):
                for view in VIEWS:
                    db.create(view, mode)
            how = c.pick(["auto", "auto", "full"])
            COUNTS[how] += 1
            with pytest.MonkeyPatch.context() as patch, db.batch("test", seq, how) as b:
                patch.setattr(policy, "MARGIN", c.pick(MARGINS))
                for name in [c.pick(OPERATIONS) for _ in range(4)]:
                    COUNTS[name] += model.apply(name, b)
            COUNTS["tried"] += "as it turns out" in b.report.why
            operations = list(b._operations)
            if seq >= max(late, 1):
                check(db, model)
            if c.one_in(4):
                COUNTS["repeated"] += 1
                before = state(db)
                with db.batch("test", seq) as again:
                    again._operations = operations
                assert not again.report.applied and state(db) == before
            if c.one_in(5):
                COUNTS["reopened"] += 1
                db.close()
                db = opened(folder)
        db.close()


# ---------------------------------------------------------------- everything else that can happen


@pytest.fixture(scope="module")
def fate():
    with one_fate() as found:
        yield found


def survive(c: Choices, fate: Fate, counts: Counter[str]) -> None:
    """One random state. What fails says what happened to it."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        machine = Machine(c, Path(folder), fate, counts)
        try:
            machine.start()
            for _ in range(STEPS):
                machine.one(machine.c.pick(HAPPENS))
            machine.check_everything()
        except BaseException as e:
            e.add_note(", ".join(machine.log))
            raise
        finally:
            fate.spare()


STEPS = 34
SEED = os.environ.get("RIPPLENEST_SEED")


@law(examples=8 if SEED is None else 0, tries=200)
def test_a_state_survives(fate, c):
    survive(c, fate, COUNTS)


def from_seed(seed: int, fate: Fate) -> None:
    """The state of a seed; what fails says which, is made small and kept as a case of ``test_a_state_survives``."""
    try:
        test_a_state_survives.law(fate=fate).ask(Random(seed).randrange)
    except BaseException as e:
        e.add_note(f"RIPPLENEST_SEED={seed}")
        raise


@pytest.mark.skipif(SEED is None, reason="no seed is asked for")
def test_the_state_of_a_seed_survives(fate):
    from_seed(int(SEED), fate)


@pytest.mark.long
def test_states_survive_for_long(fate):
    """``RIPPLENEST_MINUTES=60 pytest -m long -k survive_for_long tests/api`` goes on for an hour."""
    with reported("stateful", "states to which everything happens", *MET) as run:
        started, seeds, minutes = time.monotonic(), Random(run.seed), float(os.environ.get("RIPPLENEST_MINUTES", "0"))
        before = Counter(COUNTS)
        while run.counts["states"] < 240 or time.monotonic() - started < 60 * minutes:
            from_seed(seeds.getrandbits(32), fate)
            run.count("states")
        run.counts.update(COUNTS - before)
        assert lacking(run.counts, MET, 50) == {}


PROPERTY = ("built late", "repeated", "reopened", "full", "tried")
MET = ("died", "died after its commit", "refused", "not applied twice", "raced", "conflict", "no gap", "created",
       "rolled back", "compacted", "compacted everything", "vacuumed", "restarted", "tracked", "read", "no longer kept",
       "no such table yet", "changed", "damage noticed", *OPERATIONS)  # fmt: skip


def lacking(counts: Counter[str], names: tuple[str, ...], least: int) -> dict[str, int]:
    return {name: counts[name] for name in names if counts[name] < least}


@pytest.mark.parametrize("names", [(*PROPERTY, *OPERATIONS), MET], ids=["by the property", "by the states"])
def test_everything_was_met(names):
    if SEED is not None or not COUNTS[names[0]]:
        pytest.skip("what counts did not run")
    assert lacking(COUNTS, names, 3) == {}, COUNTS
