"""Tables that are ordered: the first rows of keys are those that sorting finds, however segments came to be, and what
is read of them is checked."""

import json
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from support.archived import unpacked
from support.choices import Choices
from support.laws import law
from support.ordering import KINDS, first_copies, in_order, key_of, ordering, row_of, shown
from support.sizes import many
from support.states import MEMORY

from ripplenest.data import grouping, index
from ripplenest.data.hashing import U64
from ripplenest.data.order import LEAST, MOST, By, Firsts, Ordering, Within, prefixes_by
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import CorruptState, LawBroken, StateError
from ripplenest.nrc.types import INT, LONG, STRING, Base
from ripplenest.store import Change, Snapshot, Store, TableSpec, merging, ranges
from ripplenest.store.blocks import BLOCK
from ripplenest.store.database.catalogue import FORMAT, FORMATS, ORDERED, REACHING
from ripplenest.store.detached import Detached
from ripplenest.store.disk import Disk
from ripplenest.store.index import arranging, asked, clustering, first, fronts, within
from ripplenest.store.ranges import Unwritten, divided, merge, written
from ripplenest.store.ref import TableRef, ref_of_json, ref_to_json
from ripplenest.store.segments import Reader
from ripplenest.store.specs import Reshape, Written, columns_text
from ripplenest.store.staging import Staging

COUNTS: Counter[str] = Counter()
T = "t"


# ---------------------------------------------------------------- the law


class Life:
    """A table, and by version what its rows are."""

    def __init__(self, c: Choices, store: Store) -> None:
        self.c, self.store = c, store
        self.types = tuple(c.pick(KINDS) for _ in range(2 + c.number(3)))
        self.at, self.later = 1 + c.number(6), ordering(c, len(self.types))
        self.spec = TableSpec(T, self.types, ((0,),) * c.number(2), (ordering(c, len(self.types)),))
        self.versions: list[Counter[Row]] = [Counter(), Counter()]
        store.commit(Change(tables=(self.spec,)), 0)

    def change(self, counts: Counter[Row]) -> Rows:
        """Rows come, and some that are there go."""
        there, delta = sorted((row for row, n in counts.items() if n), key=repr), Counter[Row]()
        for _ in range(self.c.pick((1, 4, 12))):
            row = self.c.pick(there) if there and self.c.one_in(2) else row_of(self.c, self.types, 4)
            delta[row] += -min(counts[row] + delta[row], self.c.pick((1, 9))) if self.c.one_in(2) else 1
        return Rows.of_pairs(self.types, delta.items()).consolidated()

    def batch(self) -> None:
        """One version more; its rows are written here, or by tasks."""
        version = self.store.version
        delta = self.change(self.versions[-1])
        self.at -= 1
        new = {} if self.at else {T: (self.later,)}
        if self.c.one_in(3) and not new and len(delta):
            self.by_tasks(delta)
        else:
            self.store.commit(Change({T: delta}, ordered=new), version)
        counts = Counter(self.versions[-1])
        counts.update(delta.counts())
        self.versions.append(counts)
        if self.c.one_in(4):
            self.store.compact(everything=True)
            self.versions += [counts] * (self.store.version + 1 - len(self.versions))

    def by_tasks(self, delta: Rows) -> None:
        store, now = self.store, self.store.snapshot()
        spec = now.tables[T]
        with Staging.begin(store.path) as staging:
            disk, room = Disk(staging.folder), store.room
            (run,) = written([Unwritten(delta, spec.indexes[:1], 0)], disk, room)
            work = divided(TableRef(spec, (run,)), 3, store.reserved(), now.number(T))
            made = tuple(s for piece in work if (s := merge(piece, Reader(disk), disk, room).segment) is not None)
            store.commit(Change(written=Written(staging.folder, {T: made})), store.version)
        COUNTS["sorted runs"] += len(made) > 1

    def check(self, tables: Snapshot | Detached, o: Ordering, counts: Counter[Row]) -> None:
        """Law: what ``first`` finds in the rows at or after a bound, with a change on top, is what sorting finds."""
        c, plus = self.c, self.change(counts) if self.c.one_in(2) else None
        total = Counter(counts)
        total.update({} if plus is None else plus.counts())
        some = [row for row in sorted(total, key=repr) if c.one_in(2)] + [row_of(c, self.types, 4)]
        sample = {key_of(row, o): row for row in some}
        keys = [tuple(row[i] for i in o.key) for row in sample.values()]
        limits = {key: c.number(6) for key in sample}
        start = {key: c.pick([r for r in [*total, row] if key_of(r, o) == key]) for key, row in sample.items()}
        start = {key: row for key, row in start.items() if c.one_in(2)}
        of_key, place = tuple(self.types[i] for i in o.key), in_order(o)
        after: dict[Row, int] = {}
        for row, n in total.items():
            key = key_of(row, o)
            if key in sample and (key not in start or not place(row) < place(start[key])):  # type: ignore[operator]
                after[row] = n
        asked = Firsts(
            o,
            Rows.of_pairs(of_key, [(key, 1) for key in keys]),
            np.array([limits[key] for key in sample], np.int64),
            Rows.of_pairs(self.types, [(row, 1) for row in start.values()]) if start or c.one_in(2) else None,
            plus,
        )
        found = tables.first(T, asked)
        wanted = first_copies(after, o, lambda row: limits[key_of(row, o)])
        assert shown(dict(found.rows.pairs())) == shown(wanted)
        COUNTS["found"] += len(wanted) > 1
        COUNTS["cut"] += 0 < sum(wanted.values()) < sum(n for n in after.values())
        COUNTS["nothing"] += not wanted


    def check_within(self, tables: Snapshot | Detached, o: Ordering, counts: Counter[Row], collide: bool) -> None:
        """Law: what ``within`` finds has each row of the keys that is between their prefixes, whole and once, however
        often a key is asked for; and no other, but for one whose key has the hash of another."""
        c = self.c
        rows = [row_of(c, self.types, 4) for _ in range(c.number(4))] + [row for row in counts if c.one_in(3)]
        ends = [(c.pick([None, *rows]), c.pick([None, *rows])) for _ in rows]
        low, high = (self.prefix([e[i] for e in ends], o, default) for i, default in ((0, LEAST), (1, MOST)))
        kept = [i for i in range(len(rows)) if LEAST <= low[i] <= high[i] <= MOST]
        keys = [tuple(rows[i][k] for k in o.key) for i in kept]
        of_key, weights = tuple(self.types[i] for i in o.key), pa.array([1] * len(keys), pa.int64())
        asked = Rows.of_columns(of_key, Rows.of_pairs(of_key, [(k, 1) for k in keys]).arrow().columns[:-1], weights)
        found = tables.within(T, Within(o, asked, low[kept], high[kept]))
        spans = [(None if collide else key_of(rows[i], o), low[i], high[i]) for i in kept]
        own = dict(zip(counts, self.prefix([*counts], o, LEAST), strict=True))
        wanted = {
            row: n
            for row, n in counts.items()
            if n and any(key in (None, key_of(row, o)) and a <= own[row] <= b for key, a, b in spans)
        }
        assert found is not None and shown({row: n for row, n in found.counts().items() if n}) == shown(wanted)
        COUNTS["between"] += len(wanted) > 1
        COUNTS["spans that overlap"] += len({k for k, _, _ in spans}) < len(spans)

    def prefix(self, rows: Sequence[Row | None], o: Ordering, default: np.uint64) -> U64:
        """Those of what comes first in the order."""
        some = [row for row in rows if row is not None]
        found = iter(prefixes_by(Rows.of_pairs(self.types, [(row, 1) for row in some]).arrow(), o.by).tolist())
        return np.array([default if row is None else next(found) for row in rows], np.uint64)


@pytest.mark.parametrize("collide", [False, True], ids=["hashes", "all hashes equal"])
@law(examples=many(13, 200))
def test_first_is_what_sorting_finds(collide: bool, c: Choices) -> None:
    """Whatever was merged, written by tasks, ordered later, or is old; searched by numbers and by rows."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        patch.setattr(merging, "FANOUT", 2)
        patch.setattr(merging, "TIER_ROWS", 4)
        patch.setattr(ranges, "LEAST", 1 << 8)
        patch.setattr(fronts, "NEAR", c.pick((8, 0)))
        if collide:
            for module in (grouping, index, clustering, arranging, asked, within):
                patch.setattr(module, "hash_columns", lambda _, rows: np.zeros(rows, np.uint64))
        memory = c.pick((1 << 24, 1 << 10))
        with Store.open(folder, memory=memory) as store:
            life = Life(c, store)
            for _ in range(6):
                life.batch()
            (o,) = life.spec.ordered
            now = store.snapshot()
            both = now.tables[T].ordered
            assert both == tuple(dict.fromkeys((o, life.later)))
            store.check_segments()
            for one in both:
                for tables in (now, handed_on(store, now)):
                    life.check(tables, one, life.versions[-1])
                    if one.by:
                        life.check_within(tables, one, life.versions[-1], collide)
            assert now.within(T, Within(Ordering((1,), (By(0), By(1))), ONE, *np.ones((2, 1), np.uint64))) is None
        with Store.open(folder) as store:
            for n in (2, 4, store.version):
                for one in both:  # an order that came later is made of old segments
                    life.check(store.snapshot(n), one, life.versions[n])
                    if one.by:
                        life.check_within(store.snapshot(n), one, life.versions[n], collide)
        COUNTS["orders"] += len(both)


def handed_on(store: Store, now: Snapshot) -> Detached:
    """The table as another process reads it."""
    ref = ref_of_json(json.loads(json.dumps(ref_to_json(now.table(T)))))
    assert ref == now.table(T) and [s.indexes for s in ref.segments] == [s.indexes for s in now.table(T).segments]
    return Detached(str(store.path), now.version, {T: ref})


def test_the_law_met_what_it_is_about() -> None:
    met = ("found", "cut", "nothing", "sorted runs", "between", "spans that overlap")
    assert all(COUNTS[what] > 10 for what in met), COUNTS
    assert COUNTS["orders"] > 30, COUNTS


def test_rows_that_get_other_columns_stay_in_order(tmp_path: Path) -> None:
    """Wider ones, and more of them: what was stored is read as it is."""
    old, new = (INT, Base("decimal", True, 9, 2)), (LONG, Base("decimal", True, 38, 2), STRING)
    values = [None, *map(Decimal, ("-1.50", "0.00", "0.01", "9999999.99"))]
    o, more = Ordering((0,), (By(1, True),)), Ordering((0,), (By(2), By(1)))
    with Store.open(tmp_path / "s") as store:
        store.commit(Change(tables=(TableSpec(T, old, ((0,),), (o,)),)), 0)
        store.commit(Change({T: Rows.of_pairs(old, [((1, v), 1) for v in values])}), 1)
        huge = [((1, Decimal(f"{sign}{'9' * 36}.99"), "a"), 1) for sign in ("", "-")]
        change = Change({T: Rows.of_pairs(new, huge)}, reshaped={T: Reshape(new, ("x",))}, ordered={T: (more,)})
        store.commit(change, 2)
        total = dict([*(((1, v, "x"), 1) for v in values), *huge])
        assert len(store.snapshot().segments(T)) == 2
        for one in (o, more):
            for n in range(8):
                asked = Rows.of_pairs(new[:1], [((1,), 1)])
                found = store.snapshot().first(T, Firsts(one, asked, np.array([n])))
                assert found.rows.counts() == first_copies(total, one, lambda _, n=n: n)


# ---------------------------------------------------------------- how much is read

BY = Ordering((0,), (By(1),))
TEXTS = (LONG, STRING)


def texts(first: int, end: int, weight: int = 1) -> Rows:
    """Rows of one key, whose texts begin alike."""
    return Rows.of_pairs(TEXTS, [((1, f"customer {i:06}"), weight) for i in range(first, end)])


ONE = Rows.of_pairs((LONG,), [((1,), 1)])


def test_a_bound_is_searched_for_where_texts_begin_alike(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        store.commit(Change({T: texts(0, 20_000)}, (TableSpec(T, TEXTS, (), (BY,)),)), 0)
        found = store.snapshot().first(T, Firsts(BY, ONE, np.array([2]), texts(15_000, 15_001)))
        assert found.rows.counts() == texts(15_000, 15_002).counts() and found.read < 40


def test_what_is_asked_is_read_and_little_more(tmp_path: Path) -> None:
    """Of rows that are spread over segments as they come, not that many of each."""
    with Store.open(tmp_path / "s") as store:
        store.commit(Change(tables=(TableSpec(T, TEXTS, (), (BY,)),)), 0)
        places = random.Random(1).sample(range(20_000), 20_000)
        for i in range(5):
            rows = [((1, f"{n:06}"), 1) for n in places[i * 4000 : i * 4000 + 4000]]
            store.commit(Change({T: Rows.of_pairs(TEXTS, rows)}), i + 1)
        now = store.snapshot()
        assert len(now.segments(T)) == 5
        found = now.first(T, Firsts(BY, ONE, np.array([1000])))
        assert found.rows.counts() == {(1, f"{n:06}"): 1 for n in range(1000)} and found.read < 2000


def test_a_segment_is_not_read_whose_rows_come_later(tmp_path: Path) -> None:
    """The prefix of what it has next says so: of all segments with rows of the key, one has what comes next."""
    order = Ordering((0,), (By(1),))
    types = (LONG, LONG)
    with Store.open(tmp_path / "s") as store:
        store.commit(Change({T: of_numbers(range(1000))}, (TableSpec(T, types, (), (order,)),)), 0)
        for i in range(5):
            store.commit(Change({T: of_numbers(range(500 + i, 505 + i, 2))}), 2 * i + 1)
            store.commit(Change({T: of_numbers(range(500 + i, 505 + i, 2), -1)}), 2 * i + 2)
        store.commit(Change({T: of_numbers([12, 14], -1)}), 11)
        now = store.snapshot()
        assert len(now.segments(T)) > 3
        for start, wanted, read in ((3, [3, 4], 2), (11, [11, 13], 7), (600, [600, 601], 2)):
            found = now.first(T, Firsts(order, ONE, np.array([2]), of_numbers([start])))
            assert found.rows.counts() == of_numbers(wanted).counts()
            assert found.read <= read, (start, found.read)
        plus = of_numbers([4, 5], -1)
        found = now.first(T, Firsts(order, ONE, np.array([2]), of_numbers([3]), plus))
        assert (found.rows.counts(), found.read) == (of_numbers([3, 6]).counts(), 4)


def test_a_segment_that_was_not_read_yet_has_rows_to_come(tmp_path: Path) -> None:
    """While others are read on."""
    order = Ordering((0,), (By(1),))
    with Store.open(tmp_path / "s") as store:
        store.commit(Change({T: of_numbers(range(0, 1000, 2))}, (TableSpec(T, (LONG, LONG), (), (order,)),)), 0)
        store.commit(Change({T: of_numbers([13])}), 1)
        store.commit(Change({T: of_numbers([15])}), 2)
        found = store.snapshot().first(T, Firsts(order, ONE, np.array([5]), of_numbers([10])))
    assert (found.rows.counts(), found.read) == (of_numbers([10, 12, 13, 14, 15]).counts(), 7)


def test_where_texts_begin_alike_the_segment_is_read_on_that_was_read_the_least_far(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        even, odd = (Rows.of_pairs(TEXTS, [((1, f"customer {n:06}"), 1) for n in range(i, 1000, 2)]) for i in (0, 1))
        store.commit(Change({T: even}, (TableSpec(T, TEXTS, (), (BY,)),)), 0)
        store.commit(Change({T: odd}), 1)
        found = store.snapshot().first(T, Firsts(BY, ONE, np.array([100])))
    assert (found.rows.counts(), found.read) == (texts(0, 100).counts(), 200)


def of_numbers(numbers: Iterable[int], weight: int = 1) -> Rows:
    return Rows.of_pairs((LONG, LONG), [((1, n), weight) for n in numbers])


def test_a_key_that_passes_many_rows_over_costs_others_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are compared again only with those of keys that read on."""
    ranked: list[int] = []
    plain = first.ranks
    monkeypatch.setattr(first, "ranks", lambda table, o: ranked.append(len(table)) or plain(table, o))
    with Store.open(tmp_path / "s") as store:
        others = Rows.of_pairs(TEXTS, [((key, str(n)), 1) for key in range(2, 2000) for n in range(3)])
        store.commit(Change({T: others.plus(texts(0, 5000))}, (TableSpec(T, TEXTS, (), (BY,)),)), 0)
        store.commit(Change({T: texts(0, 4000, -1)}), 1)
        keys = Rows.of_pairs((LONG,), [((i,), 1) for i in range(1, 2000)])
        start = Rows.of_pairs(TEXTS, [((key, "1"), 1) for key in range(2, 2000)])
        found = store.snapshot().first(T, Firsts(BY, keys, np.full(1999, 2), start))
    wanted = {(key, str(n)): 1 for key in range(2, 2000) for n in (1, 2)}
    assert found.rows.counts() == wanted | texts(4000, 4002).counts()
    assert len(ranked) > 8 and sum(ranked) < 3 * found.read, (ranked, found.read)


# ---------------------------------------------------------------- wrong use


def test_what_is_no_ordering_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        for o in (Ordering((2,), ()), Ordering((0,), (By(-1),)), Ordering((0, 0), ()), Ordering((), (By(1), By(1)))):
            with pytest.raises(StateError, match="an ordering that is not one"):
                store.commit(Change(tables=(TableSpec(T, TEXTS, (), (o,)),)), 0)
        store.commit(Change({T: texts(0, 3, -1)}, (TableSpec(T, TEXTS, ((0,),), (BY,)),)), 0)
        with pytest.raises(StateError, match="not an ordering of this table") as caught:
            store.snapshot().first(T, Firsts(Ordering((0,), ()), ONE, np.array([1])))
        assert list(caught.value.possible) == ['{"key": [0], "by": [[1, false, false]]}']
        with pytest.raises(LawBroken, match="less than 0 times") as broken:
            store.snapshot().first(T, Firsts(BY, ONE, np.array([1])))
        assert broken.value.where == T
        for keys, start in ((ONE.plus(ONE), None), (ONE, texts(0, 2))):
            with pytest.raises(LawBroken, match="asked for twice"):
                store.snapshot().first(T, Firsts(BY, keys, np.ones(len(keys), np.int64), start))


def test_a_segment_of_tasks_without_its_order_is_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        parent = store.commit(Change(tables=(TableSpec(T, TEXTS, ((0,),), (BY,)),)), 0)
        with Staging.begin(store.path) as staging:
            number, disk = store.snapshot().number(T), Disk(staging.folder)
            made = written([Unwritten(texts(0, 1).consolidated(), ((0,),), 1, number, is_delta=True)], disk, Room())
            with pytest.raises(LawBroken, match="not made for this table"):
                store.commit(Change(written=Written(staging.folder, {T: tuple(made)})), parent)


# ---------------------------------------------------------------- the stored format


def told(folder: Path, sql: str = "SELECT value FROM meta WHERE key = 'format'") -> Any:
    with closing(sqlite3.connect(folder / "catalogue.sqlite")) as c, c:
        return c.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("order", "own", "known"),
    [(BY, ORDERED, f"4 or {FORMAT}"), (evolve(BY, until=1), REACHING, f"4, {FORMAT} or {ORDERED}")],
    ids=str,
)
def test_a_state_has_the_format_that_its_tables_need(tmp_path: Path, order: Ordering, own: int, known: str) -> None:
    """A release that knows no orders refuses a state that has them, and reads it again when they have gone."""
    older = [f for f in FORMATS if int(f) < own]
    with Store.open(tmp_path / "s", retain=1) as store:
        assert told(store.path) == [(str(FORMAT),)]
        store.commit(Change({T: texts(0, 3)}, (TableSpec(T, TEXTS), TableSpec("u", TEXTS))), 0)
        assert told(store.path) == [(str(FORMAT),)]
        store.commit(Change(ordered={T: (order,)}), 1)
        assert told(store.path) == [(str(own),)]
        with pytest.raises(StateError, match="another format") as caught:
            Store.open(tmp_path / "s", formats=older)
        assert caught.value.got == f"format {own}" and caught.value.wanted == f"format {known}"
        store.commit(Change(dropped=(T,)), 2)
        assert told(store.path) == [(str(own),)]
        for i in range(3, 6):
            store.commit(Change({"u": texts(i, i + 1)}), i)
        assert told(store.path) == [(str(FORMAT),)]
        assert not told(store.path, "SELECT * FROM segment_indexes") and not told(store.path, "SELECT * FROM indexes")
    with Store.open(tmp_path / "s", formats=older) as store:
        assert store.snapshot().scan("u").counts() == texts(3, 6).counts()


@pytest.mark.parametrize("release", ["0.2.0", "0.3.0"])
def test_states_of_other_times_can_be_ordered(tmp_path: Path, release: str) -> None:
    """Also those of format 4, whose indexes are other ones: before and after their segments become one."""
    with Store.open(unpacked(release, tmp_path)) as store:
        assert told(store.path) == [("4" if release == "0.2.0" else "5",)]
        tables = {name: spec for name, spec in store.tables().items() if len(spec.types) > 1}
        given = {name: (Ordering((len(t.types) - 1,), (By(0, descending=True),)),) for name, t in tables.items()}
        store.commit(Change(ordered=given), store.version)
        assert told(store.path) == [(str(ORDERED),)]
        for everything in (False, True):
            store.compact(everything=True) if everything else None
            now = store.snapshot()
            for name, (o,) in given.items():
                rows = now.scan(name)
                keys = rows.select(o.key).consolidated()
                found = now.first(name, Firsts(o, keys, np.full(len(keys), 2)))
                assert shown(found.rows.counts()) == shown(first_copies(rows.counts(), o, lambda _: 2))
                COUNTS["texts"] += any(tables[name].types[c].kind == "string" for c in o.key)
    assert COUNTS["texts"] > 1


def answered(folder: Path) -> list[dict[Row, int]]:
    """The first rows of some keys, from a process that has nothing cached."""
    with Store.open(folder) as store:
        tables, limits = store.snapshot(), np.full(10, 3)
        keys = Rows.of_pairs((LONG,), [((i,), 1) for i in (*range(9), 77)])
        start = Rows.of_pairs(TEXTS, [((i, f"{i * 7:05}"), 1) for i in range(9)])
        return [tables.first(T, Firsts(BY, keys, limits, begin)).rows.counts() for begin in (None, start)]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "state"
    with Store.open(folder) as store:
        store.commit(Change(tables=(TableSpec(T, TEXTS, ((0,),), (BY,)),)), 0)
        for i in range(3):
            rows = [((n % 9, f"{n:05}"), 1) for n in range(9000 * i, 9000 * i + 9000)]
            store.commit(Change({T: Rows.of_pairs(TEXTS, rows)}), i + 1)
    return folder


def test_a_flipped_bit_in_an_order_is_named_or_not_read(good: Path, tmp_path: Path) -> None:
    """What is not read is found by a check of the files."""
    wanted, chance, named = answered(good), random.Random(1), 0
    blobs = told(good, "SELECT file, offset, bytes FROM segment_indexes WHERE columns LIKE '{%'")
    assert len(blobs) == 3
    state = tmp_path / "state"
    shutil.copytree(good, state)
    for _ in range(many(30, 300)):
        file, offset, size = chance.choice(blobs)
        path, place, bit = state / "segments" / file, offset + chance.randrange(size), 1 << chance.randrange(8)
        data = path.read_bytes()
        path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
        try:
            assert answered(state) == wanted
        except CorruptState as e:
            named += 1
            assert str(path) in (e.where or "")
        with Store.open(state) as store, pytest.raises(CorruptState):
            store.check_segments()
        path.write_bytes(data)
    assert answered(state) == wanted and named > 5


def test_a_search_that_was_led_astray_is_noticed(good: Path, tmp_path: Path) -> None:
    """By entries that say that all rows come before what is looked for."""
    state = tmp_path / "state"
    shutil.copytree(good, state)
    with Store.open(state) as store:
        now = store.snapshot()
        segment = now.segments(T)[-1]
        own = Reader(Disk(state / "segments")).order(segment, BY).prefixes.tobytes()
    path = state / "segments" / segment.indexes[BY].file
    data = path.read_bytes()
    own = own[BLOCK:-BLOCK]  # with the last ones is what is read when a blob is opened
    assert len(own) > BLOCK and data.count(own) == 1
    path.write_bytes(data.replace(own, bytes(len(own))))
    with pytest.raises(CorruptState, match="stored bytes have changed"):
        answered(state)


def test_an_order_of_another_segment_is_refused(good: Path, tmp_path: Path) -> None:
    """And one of another index, and none."""
    place = "file, offset, bytes, sha256"
    other = f"(SELECT {place} FROM segment_indexes o WHERE o.columns {{}} LIKE '{{{{%' ORDER BY segment_id LIMIT 1)"
    of = "WHERE columns LIKE '{%' AND segment_id = (SELECT max(id) FROM segments)"
    for i, (sql, what) in enumerate(
        (
            (f"UPDATE segment_indexes SET ({place}) = {other.format('')} {of}", "something else"),
            (f"UPDATE segment_indexes SET ({place}) = {other.format('NOT')} {of}", "something else"),
            (f"DELETE FROM segment_indexes {of}", "lost an index"),
            (f"UPDATE segment_indexes SET columns = '{{}}' {of}", "cannot be read"),
        )
    ):
        state = tmp_path / str(i)
        shutil.copytree(good, state)
        told(state, sql)
        with pytest.raises(CorruptState, match=what):
            answered(state)
        if what == "lost an index":
            with Store.open(state) as store, pytest.raises(CorruptState, match=what) as caught:
                store.check_segments()
            assert caught.value.wanted == columns_text(BY)
