"""A state to which everything happens that can happen to one, and what it should hold: the machine of test_stateful."""

import copy
import errno
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from ripplenest import Database, errors
from ripplenest.delta.materialize import MODES
from ripplenest.intake.operations import Operation
from ripplenest.run.policy import Policy
from ripplenest.state.report import Report
from ripplenest.store.writable import FORGET
from support.choices import Choices
from support.fate import DISK, RETURN, STEP, Death, Fate
from support.shop import ANN, BOB, FILMS, best, customers, movie, movies, opened
from support.shop import VIEWS as PLAIN
from support.shop_model import OPERATIONS, Model, Rows, a_film

VIEWS = (*PLAIN, best)
HAPPENS = (*["batch"] * 6, "race", "replay", "other content", "gap", "create", "rollback", "compact",
           "compact everything", "vacuum", "restart", "track", "read", "read too old", "read too early", "changes",
           "damage")  # fmt: skip
AFTER = "died after its commit"
DAMAGE = ("flip", "cut", "gone", "swap")


@frozen
class Accepted:
    """A batch that was applied, and the version that it became."""

    source: str
    seq: int
    operations: list[Operation]
    version: int


class Machine:
    """A state that two processes work on, and what it should hold: rows by version, and the accepted batches."""

    def __init__(self, c: Choices, folder: Path, fate: Fate, counts: Counter[str]) -> None:
        self.c, self.folder, self.fate, self.counts, self.model = c, folder, fate, counts, Model(c)
        self.retain = c.pick([4, 10, 1000])
        self.left = [view for view in VIEWS if c.number(2)]  # to create
        self.processes: list[Database | None] = [None, None]
        self.accepted: list[Accepted] = []
        self.past = [(Rows(), Rows())] * 3  # by version
        self.born = {"C": 1, "M": 2}  # by relation or view, its first version
        self.oldest = 0
        self.log: list[str] = []

    def met(self, what: str) -> None:
        self.counts[what] += 1
        self.log.append(what)

    # ------------------------------------------------------------ processes

    def process(self, i: int | None = None) -> Database:
        """One of the two, started when it is not there."""
        i = self.c.number(2) if i is None else i
        db = self.processes[i]
        if db is None:
            self.processes[i] = db = opened(self.folder / "state", retain=self.retain)
        return db

    def happen(self, act: Callable[[Database], object]) -> bool:
        """``act`` by one of the processes, which may meet its fate before it is done; whether it was."""
        i, how = self.c.number(2), self.c.number(8)
        self.fate.struck = False
        if how < 4:
            self.fate.strike((DISK, RETURN, STEP, STEP)[how], 1 + self.c.number((8, 1, 40, 70)[how]))
        try:
            act(self.process(i))
        except Death:
            self.processes[i] = None  # nobody closes it
            self.met("died")
            return False
        except errors.StateError as e:
            assert isinstance(e.__cause__, OSError) and e.__cause__.errno == errno.ENOSPC, e
            self.met("refused")
            return False
        finally:
            self.fate.spare()
        return True

    def commit(self, act: Callable[[Database], object], after: tuple[Rows, Rows]) -> None:
        """``act`` until it has made one version more, in which there are the rows ``after``; none before it has."""
        done = False
        while not done:
            done = self.happen(act)
            if not done and self.process().version > self.version:
                self.met(AFTER)
                break
            assert done or self.process().version == self.version
        self.committed(after)
        self.check()

    # ------------------------------------------------------------ what should be there

    @property
    def version(self) -> int:
        return len(self.past) - 1

    def committed(self, rows: tuple[Rows, Rows]) -> None:
        """There is a version more, with these rows; each makes a few old ones forgotten."""
        self.past.append(copy.deepcopy(rows))
        self.model.customers, self.model.films = copy.deepcopy(rows)
        self.oldest = max(self.oldest, min(self.version - self.retain, self.oldest + FORGET))

    def now(self) -> tuple[Rows, Rows]:
        return self.model.customers, self.model.films

    def wanted(self, name: str, version: int) -> Rows:
        """The rows of a relation or view at ``version``."""
        both = dict(zip("CM", self.past[version], strict=True))
        view = {"C": customers, "M": movies}.get(name) or next(v for v in VIEWS if v.name == name)
        return view(**{r: both[r] for r, _ in view.query.relations})

    def check(self) -> None:
        """The version, what is kept, and one answer; ``check_everything`` asks for the others."""
        db, name = self.process(), self.c.pick(list(self.born))
        usage = db.usage
        assert (usage.newest, usage.oldest) == (self.version, self.oldest)
        assert handle(db, name).rows() == self.wanted(name, self.version), name

    def check_everything(self) -> None:
        db = self.process()
        db.vacuum()
        self.oldest = max(self.oldest, self.version - self.retain)
        self.check()
        for name, born in self.born.items():
            for version in range(max(born, self.oldest), self.version + 1):
                assert handle(db, name).as_of(version).rows() == self.wanted(name, version), (name, version)
        assert db.verify(deep=True).ok and db._store.check_segments() >= 0 and db.usage.orphans == ()

    # ------------------------------------------------------------ what happens

    def start(self) -> None:
        while not self.happen(lambda _: None):  # making the state, and its relations
            pass
        for name in ("C", "M") if self.c.number(3) else ():
            both = (copy.deepcopy([ANN, BOB]), Rows()) if name == "C" else (self.past[-1][0], copy.deepcopy(FILMS))
            rows = both["CM".index(name)]
            self.commit(lambda db, name=name, rows=rows: db.load(name, rows), both)

    def one(self, what: str) -> None:
        """One of HAPPENS, when there is what it takes."""
        self.log.append(what)
        getattr(self, what.replace(" ", "_"))()

    def operations(self) -> list[Operation]:
        """A random batch, which the model has done already."""
        recorder = self.process().batch("nobody", 1).__enter__()
        for name in (self.c.pick(OPERATIONS) for _ in range(1 + self.c.number(4))):
            self.counts[name] += self.model.apply(name, recorder)
        return list(recorder._operations)

    def batch(self) -> None:
        source, operations = self.c.pick(["a", "b"]), self.operations()
        seq, policy = self.next(source), self.c.pick(["auto", "incremental", "full"])
        self.commit(lambda db: submit(db, source, seq, operations, policy), self.now())
        self.accept(source, seq, operations)
        if self.log[-1] == AFTER:
            self.retry(self.accepted[-1])

    def race(self) -> None:
        """Another process commits after this one has computed its batch, which must be computed again."""
        other, operations = self.c.pick(["a", "b"]), self.operations()
        films = [a_film(self.c) for _ in range(3)]
        first, second = self.processes = [self.process(0), self.process(1)]
        fresh = first.batch("meanwhile", self.next("meanwhile")).__enter__()
        fresh.insert("M", films)
        self.fate.meanwhile = lambda: submit(second, "meanwhile", self.next("meanwhile"), fresh._operations)
        submit(first, other, self.next(other), operations)
        assert self.fate.meanwhile is None
        rows = self.now()
        self.committed((self.past[-1][0], self.past[-1][1] + films))
        self.accept("meanwhile", self.next("meanwhile"), fresh._operations)
        self.committed((rows[0], rows[1] + films))
        self.accept(other, self.next(other), operations)
        self.check()
        self.met("raced")

    def next(self, source: str) -> int:
        return 1 + max((b.seq for b in self.accepted if b.source == source), default=0)

    def accept(self, source: str, seq: int, operations: list[Operation]) -> None:
        self.accepted.append(Accepted(source, seq, operations, self.version))

    def retry(self, b: Accepted) -> None:
        """It was applied once, and nothing happens."""
        reports: list[Any] = []
        if self.happen(lambda db: reports.append(submit(db, b.source, b.seq, b.operations))):
            assert (reports[0].applied, reports[0].version) == (False, b.version)
            self.met("not applied twice")
        self.check()

    def replay(self) -> None:
        if self.accepted:
            self.retry(self.c.pick(self.accepted))

    def other_content(self) -> None:
        if self.accepted:
            b = self.c.pick(self.accepted)
            with pytest.raises(errors.BatchConflict):
                submit(self.process(), b.source, b.seq, [*b.operations, *b.operations, *self.film()])
            self.met("conflict")

    def gap(self) -> None:
        if self.accepted:
            source = self.c.pick(self.accepted).source
            with pytest.raises(errors.BatchGap):
                submit(self.process(), source, self.next(source) + 1, self.film())
            self.met("no gap")

    def film(self) -> list[Operation]:
        recorder = self.process().batch("nobody", 1).__enter__()
        recorder.insert("M", [movie("Gap")])
        return list(recorder._operations)

    def create(self) -> None:
        if self.left:
            view, mode = self.left.pop(), self.c.pick(MODES)
            self.born[view.name] = self.version + 1
            self.commit(lambda db: db.create(view, mode), self.now())
            self.met("created")

    def track(self) -> None:
        """Access keys come, also to tables whose segments are merged away already."""
        name = self.c.pick(list(self.born))
        self.commit(lambda db: db.track(name), self.now())
        self.met("tracked")

    def rollback(self) -> None:
        to = self.oldest + self.c.number(self.version - self.oldest + 1)
        self.commit(lambda db: db.rollback(to), self.past[to])
        self.met("rolled back")

    def compact(self, everything: bool = False) -> None:
        done = self.happen(lambda db: db.compact(everything))
        for _ in range(self.process().version - self.version):
            self.committed(self.now())
            self.met("compacted everything" if everything else "compacted")
        self.check()
        if done:
            assert self.process().compact(everything) == 0
            self.check()

    def compact_everything(self) -> None:
        self.compact(everything=True)

    def vacuum(self) -> None:
        keep = self.c.number(8)
        done = self.happen(lambda db: db.vacuum(keep))
        oldest, found = max(self.oldest, self.version - keep), self.process().usage
        assert found.oldest == oldest or (not done and found.oldest == self.oldest)
        assert self.fate.struck or found.orphans == ()  # that a file cannot be removed now is no failure
        self.oldest = found.oldest
        self.check()
        self.met("vacuumed")

    def restart(self) -> None:
        """A process ends, well or not, and another one starts, which may die of it."""
        i = self.c.number(2)
        db = self.processes[i]
        if db is not None and self.c.number(2):
            db.close()
        self.processes[i] = None
        self.happen(lambda _: None)
        self.check()
        self.met("restarted")

    def read(self) -> None:
        """An old version, by its number or by its batch."""
        name = self.c.pick(list(self.born))
        versions = range(max(self.born[name], self.oldest), self.version + 1)
        batches = [b for b in self.accepted if b.version in versions]
        b = self.c.pick(batches) if batches and self.c.number(2) else None
        at = self.c.pick(versions) if b is None else (b.source, b.seq)
        rows = handle(self.process(), name).as_of(at).rows()
        assert rows == self.wanted(name, at if b is None else b.version), (name, at)
        self.met("read")

    def read_too_old(self) -> None:
        if self.oldest:
            self.not_there(self.c.pick(list(self.born)), self.c.number(self.oldest), "no longer kept")

    def read_too_early(self) -> None:
        name = self.c.pick(list(self.born))
        if self.born[name] > self.oldest:
            self.not_there(name, self.c.pick(range(self.oldest, self.born[name])), "no such table yet")

    def not_there(self, name: str, version: int, why: str) -> None:
        with pytest.raises(errors.StateError, match=why) as caught:
            handle(self.process(), name).as_of(version).rows()
        assert not isinstance(caught.value, errors.CorruptState)
        self.met(why)

    def changes(self) -> None:
        """rows(v) = rows(since) − went + came, of what users see; scan(v) = scan(since) ⊎ delta, of what is stored."""
        name = self.c.pick(list(self.born))
        versions = range(max(self.born[name], self.oldest), self.version + 1)
        since, upto = sorted((self.c.pick(versions), self.c.pick(versions)))
        db = self.process()
        went, came = map(counted, handle(db, name).as_of(upto).changed_rows(since))
        old, new = counted(self.wanted(name, since)), counted(self.wanted(name, upto))
        assert (old - new, new - old) == (went, came), (name, since, upto)
        before, after = db._store.snapshot(since), db._store.snapshot(upto)
        for table in before.tables:
            both = before.scan(table).plus(after.delta(table, since))
            assert both.counts() == after.scan(table).counts(), (table, since, upto)
        self.met("changed" if went or came else "the same")

    def damage(self) -> None:
        """A copy of the state is damaged: it says so, or answers as if nothing had happened."""
        copied, how = self.folder / "copy", self.c.pick(DAMAGE)
        shutil.copytree(self.folder / "state", copied)
        orphans = {copied / "segments" / file for file in self.process().usage.orphans}
        orphans.add(copied / "catalogue.sqlite-journal")  # of no transaction: nobody asks what is in it
        files = sorted(f for f in copied.rglob("*") if f.is_file() and f.stat().st_size and f not in orphans)
        how = harm(self.c, how, files)
        try:
            with opened(copied, retain=self.retain) as db:
                assert db.version == self.version
                for name in self.born:
                    assert handle(db, name).rows() == self.wanted(name, self.version), name
                for b in self.accepted:
                    assert not submit(db, b.source, b.seq, b.operations).applied
                db._store.check_segments()
            self.met("harmless damage")
            assert how in ("flip", "cut"), how
        except errors.StateError as e:
            assert "copy" in str(e), e
            self.met("damage noticed")
        shutil.rmtree(copied)


def submit(db: Database, source: str, seq: int, operations: list[Operation], policy: Policy | None = None) -> Report:
    with db.batch(source, seq, policy) as b:
        b._operations = list(operations)
    return b.report


def handle(db: Database, name: str) -> Any:
    return db.relation(name) if name in "CM" else db.view(name)


def counted(rows: Rows) -> Counter[str]:
    return Counter(map(repr, rows))


def harm(c: Choices, how: str, files: list[Path]) -> str:
    """Damage one of ``files``, or exchange two; what was done."""
    one, other = c.pick(files), c.pick(files)
    data = bytearray(one.read_bytes())
    how = "gone" if one == other else how
    match how:
        case "flip":
            data[c.number(len(data))] ^= 1 << c.number(8)
            one.write_bytes(data)
        case "cut":
            one.write_bytes(data[: c.number(len(data))])
        case "gone":
            one.unlink()
        case "swap":
            one.write_bytes(other.read_bytes())
            other.write_bytes(data)
    return how
