"""Law: scan(v) = Σ changes(1..v);  delta(s, v) = Σ changes(s+1..v);  probe = scan restricted to the keys.

For random changes of awkward rows, on the newest and on old versions, before and after reopening, whatever was merged.
"""

import tempfile
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

from ripplenest.data import grouping, index
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import StateError
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import canonical
from ripplenest.store import Change, Snapshot, Store, TableSpec, merging

VALUES: dict[str, list[object]] = {
    "bool": [None, True, False],
    "int": [None, 0, 1, -1, 2**31 - 1, -(2**31)],
    "long": [None, 0, 1, -1, 2**63 - 1, -(2**63)],
    "double": [None, float("nan"), -float("nan"), 0.0, -0.0, 1.0, float("inf"), -float("inf"), 5e-324],
    "decimal": [None, Decimal("0.00"), Decimal("-0.00"), Decimal("1.5"), Decimal("-99999999.99")],
    "string": [None, "", "a", "\0", "a\0", "é", "e\u0301", "🎬", "NULL"],
    "date": [None, date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamp": [
        None,
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
    "binary": [None, b"", b"\0", b"a", b"\xff"],
}
TYPES = tuple(Base(kind, True, 10, 2) if kind == "decimal" else Base(kind, True) for kind in VALUES)  # type: ignore[arg-type]
WIDE = TableSpec("wide", TYPES, (*((i,) for i in range(len(TYPES))), (5, 3), tuple(range(len(TYPES)))))
PAIR = TableSpec("pair", (Base("long"), Base("string", True)), ((1,), (1, 0), ()))
UNIT = TableSpec("unit", (), ((),))
SPECS = {t.name: t for t in (WIDE, PAIR, UNIT)}


def row_of(types: tuple[Base, ...]) -> st.SearchStrategy[Row]:
    return st.tuples(*(st.sampled_from([v for v in VALUES[t.kind] if t.nullable or v is not None]) for t in types))


def deltas() -> st.SearchStrategy[dict[str, list[tuple[Row, int]]]]:
    """Signed rows by table, from domains so small that rows meet and cancel."""
    pairs = {n: st.lists(st.tuples(row_of(t.types), st.integers(-2, 3)), max_size=6) for n, t in SPECS.items()}
    return st.fixed_dictionaries({}, optional=pairs)


def exact(types: tuple[Base, ...], pairs: list[tuple[Row, int]]) -> dict[str, int]:
    """Canonical rows by their repr, which tells 0.0 from -0.0 and 1.5 from 1.50: the model's own summing."""
    sums: dict[str, int] = {}
    for row, n in pairs:
        key = repr(tuple(canonical(v, t) for v, t in zip(row, types, strict=True)))
        sums[key] = sums.get(key, 0) + n
    return {key: n for key, n in sums.items() if n}


def shown(rows: Rows) -> dict[str, int]:
    return {repr(row): n for row, n in rows.counts().items()}


@define
class Model:
    """All changes ever, by version; everything else follows."""

    changes: list[Mapping[str, list[tuple[Row, int]]]] = field(factory=list)

    def pairs(self, table: str, since: int, upto: int) -> list[tuple[Row, int]]:
        return [pair for change in self.changes[since:upto] for pair in change.get(table, [])]

    def scans(self, snapshot: Snapshot) -> None:
        for name, spec in SPECS.items():
            assert shown(snapshot.scan(name)) == exact(spec.types, self.pairs(name, 0, snapshot.version))

    def agrees(self, snapshot: Snapshot) -> None:
        self.scans(snapshot)
        n = snapshot.version
        for name, spec in SPECS.items():
            rows = self.pairs(name, 0, n)
            for since in range(n + 1):
                assert shown(snapshot.delta(name, since)) == exact(spec.types, self.pairs(name, since, n))
            for columns in spec.indexes:
                keys = {tuple(row[i] for i in columns) for row, _ in rows[::2]}
                names = set(exact(tuple(spec.types[i] for i in columns), [(key, 1) for key in keys]))
                mine = [r for r in rows if _name(spec, columns, r[0]) in names]
                assert shown(snapshot.probe(name, columns, keys)) == exact(spec.types, mine)
                types = tuple(spec.types[i] for i in columns)
                for key in keys:  # entries of a key are at least its rows
                    found = len(snapshot.probe(name, columns, {key}))
                    asked = Rows.of_pairs(types, [(key, 1), (key, 1)])
                    assert (snapshot.many(name, columns, asked) >= found).all()


def _name(spec: TableSpec, columns: tuple[int, ...], row: Row) -> str:
    return repr(tuple(canonical(row[i], spec.types[i]) for i in columns))


def change_of(deltas: Mapping[str, list[tuple[Row, int]]]) -> dict[str, Rows]:
    return {name: Rows.of_pairs(SPECS[name].types, pairs) for name, pairs in deltas.items()}


@pytest.mark.parametrize("crowded", [False, True], ids=["compared", "sorted out"])
@pytest.mark.parametrize("collide", [False, True], ids=["hashes", "all hashes equal"])
@settings(max_examples=many(5, 40), deadline=None)
@given(changes=st.lists(deltas(), min_size=1, max_size=12), indexed_at=st.integers(0, 11))
def test_store_is_its_changes(collide, crowded, changes, indexed_at):
    model = Model()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(merging, "FANOUT", 2)
        patch.setattr(merging, "TIER_ROWS", 4)
        if collide:
            for module in (index, grouping):
                patch.setattr(module, "hash_columns", lambda _, rows: np.zeros(rows, np.uint64))
        if crowded:
            patch.setattr(index, "CROWDED", 0)
            patch.setattr(index, "CROWD", 0)
        bare = TableSpec("wide", TYPES)
        with Store.open(folder) as store:
            old = []
            for i, change in enumerate(changes):
                tables = (bare, PAIR, UNIT) if i == 0 else ()
                indexes = {"wide": WIDE.indexes} if i == min(indexed_at, len(changes) - 1) else {}
                n = store.commit(Change(change_of(change), tables, indexes), i)
                model.changes.append(change)
                old.append(store.snapshot())
                assert n == i + 1 == store.version
            model.agrees(store.snapshot())
            for snapshot in old:
                model.scans(snapshot)
        with Store.open(folder) as store:
            model.agrees(store.snapshot())
            for n in range(1, len(changes) + 1):
                model.scans(store.snapshot(n))
            model.agrees(store.snapshot(1 + len(changes) // 2))  # also by access keys that came later
            with pytest.raises(StateError, match="no such table yet"):
                store.snapshot(0).scan("pair")
