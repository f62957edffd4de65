"""Nested rows as Arrow, pandas and polars, without Spark; single rows, and some. The law that they are the rows of the
view is asked of random views (``support/programs.py``)."""

import math
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, customer, item, opened, order
from support.sizes import many
from support.states import refused

import ripplenest as rn
from ripplenest import Bag, Database, errors
from ripplenest.version.lookups import Lookups

CONNECT = Path(sys.prefix) / "connect"  # where make test-long puts pandas
EVE = customer(9, "Eve", [order(1, item(1, 2, ("z", "z"))), order(1)])


@pytest.fixture
def shop(tmp_path: Any) -> Any:
    with opened(tmp_path / "state") as db:
        for view in VIEWS:
            db.create(view)
        db.load("C", [ANN, BOB, EVE])
        db.load("M", [*FILMS, FILMS[0]])
        yield db


def alike(rows: list[Any]) -> list[str]:
    """Rows without an order, at any depth."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        return sorted((plain(v) for v in value), key=repr) if isinstance(value, list) else value

    return sorted(repr(plain(row)) for row in rows)


def test_arrow_has_the_rows(shop: Database) -> None:
    """Of views and relations, of any version, in one table or in batches; NULL bags are NULL, empty ones are empty."""
    for h in (*(shop.view(name) for name in shop.views), shop.relation("C"), shop.relation("M")):
        wanted = alike(h.rows())
        assert alike(h.to_arrow().to_pylist()) == wanted, h
        batches = list(h.batches(2))
        assert all(len(b) <= 2 for b in batches) and alike([r for b in batches for r in b.to_pylist()]) == wanted
    before = shop.version
    with shop.batch() as b:
        b.delete_key("C", custkey=9)
    assert alike(shop.relation("C").as_of(before).to_arrow().to_pylist()) == alike([ANN, BOB, EVE])
    found = {row["custkey"]: row["orders"] for row in shop.relation("C").to_arrow().to_pylist()}
    assert found[8] is None and len(found[7]) == 2


def test_an_empty_view_has_its_types(tmp_path: Any) -> None:
    with opened(tmp_path / "state") as db:
        db.create(VIEWS[0])
        found = db.view("customers").to_arrow()
    tags = pa.list_(pa.struct([("part", pa.int64()), ("qty", pa.int64()), ("tags", pa.list_(pa.string()))]))
    orders = pa.list_(pa.struct([("orderkey", pa.int64()), ("items", tags)]))
    assert found.num_rows == 0 and list(found.schema.types) == [pa.int64(), pa.string(), orders]


def test_all_types_and_rows_without_fields(tmp_path: Any) -> None:
    @rn.record
    class Everything:
        b: bool
        i: rn.Int
        f: float | None
        d: rn.Decimal[10, 2]  # type: ignore[valid-type]
        x: bytes
        day: date
        at: datetime
        inner: Bag[Bag[int]]

    @rn.view
    def values(E: Bag[Everything]) -> Any:
        return [n for e in E for some in e.inner for n in some]

    row = {"b": True, "i": 1, "f": None, "d": Decimal("1.50"), "x": b"\0", "day": date(2026, 1, 2),
           "at": datetime(2026, 1, 2, tzinfo=UTC), "inner": [[1, 1], [], [2]]}  # fmt: skip
    with rn.open(tmp_path / "state") as db:
        db.relation("E", Everything)
        db.create(values)
        db.load("E", [row])
        assert alike(db.relation("E").to_arrow().to_pylist()) == alike([row])
        assert db.view("values").to_arrow().to_pydict() == {"value": [1, 1, 2]}


def test_pandas_and_polars(shop: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = alike(shop.relation("C").rows())
    polars = pytest.importorskip("polars")
    found = shop.relation("C").to_polars()
    assert isinstance(found, polars.DataFrame) and alike(found.to_dicts()) == wanted
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(errors.EnvironmentProblem, match=f"to_{name} needs {name}"):
            getattr(shop.relation("C"), f"to_{name}")()


def test_one_row(shop: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its key it is looked up, with what it holds; any other base fields will do."""
    scanned: list[str] = []
    plain = Lookups.all
    monkeypatch.setattr(Lookups, "all", lambda self, table: (scanned.append(table), plain(self, table))[1])
    c = shop.relation("C")
    assert c.get(custkey=7) == next(row for row in c.rows() if row["custkey"] == 7) and c.get(custkey=1) is None
    assert c.get(custkey=7, name="Bob") is None and not scanned
    assert c.get(name=None)["custkey"] == 8 and shop.view("related").get(name="Rush")["related"] == ["Skyfall"]
    with refused(shop, errors.Ambiguous, "relation M, get", "several rows", "2 rows"):
        shop.relation("M").get(name="Drive")
    with refused(shop, errors.UnknownName, "relation C, get: rows are addressed", "possible custkey, name"):
        c.get(orders=[])
    with refused(shop, errors.UnknownKey, "relation C, get: which row"):
        c.get()
    with refused(shop, errors.WrongValue, "relation C, get: custkey"):
        c.get(custkey="7")


@rn.record
class Loose:
    k: int | None
    f: float | None
    inner: Bag[Bag[int]]


@rn.view
def in_order(L: Bag[Loose]) -> Any:
    return sorted([{"f": x.f, "k": x.k, "inner": x.inner} for x in L], key=lambda x: x.k, reverse=True)


@rn.view
def by_f(L: Bag[Loose]) -> Any:
    return [{"f": x.f, "same": [y.k for y in L if y.f == x.f]} for x in L]


LOOSE = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.none() | st.integers(0, 2),
            "f": st.sampled_from((None, math.nan, 0.0, -0.0, 1.5)),
            "inner": st.lists(st.lists(st.integers(0, 1), max_size=2), max_size=2),
        }
    ),
    max_size=12,
)


def same(a: Any, b: Any) -> bool:
    """As in bags: NULL is NULL, and NaN is NaN."""
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


@settings(max_examples=many(7, 150))
@given(LOOSE)
def test_rows_by_values_are_those_of_all_rows(rows: list[Any]) -> None:
    """Law: where(f=v) = [r | r in rows(), r.f = v], in their order, of views and relations, also by several fields,
    whether or not rows are looked up by them; at any version."""
    with TemporaryDirectory() as folder, rn.open(folder + "/state") as db:
        db.relation("L", Loose)
        db.load("L", rows[1:])
        db.create(in_order)
        db.create(by_f)
        before = db.version
        with db.batch() as b:
            b.insert("L", rows[:1])
        for handle in (db.relation("L"), db.view("in_order"), db.view("by_f")):
            for h in (handle, handle.as_of(before)):
                every = h.rows()
                for f in (None, math.nan, 0, -0.0, 1.5, 7.0):
                    wanted = [row for row in every if same(row["f"], f)]
                    assert repr(h.where(f=f)) == repr(wanted)
                    for k in (None, 1) if "k" in h.shape.row.names else ():
                        assert repr(h.where(k=k, f=f)) == repr([row for row in wanted if row["k"] == k])


def test_rows_by_a_key_are_looked_up(shop: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[str] = []
    plain = Lookups.all
    monkeypatch.setattr(Lookups, "all", lambda self, table: (scanned.append(table), plain(self, table))[1])
    c, m = shop.relation("C"), shop.relation("M")
    assert c.where(custkey=7) == [c.get(custkey=7)] and c.where(custkey=7, name="Bob") == c.where(custkey=1) == []
    assert not scanned
    assert m.where(name="Drive") == [FILMS[0], FILMS[0]] and len(m.where(dir="Refn")) == 2 and {*scanned} <= {"M"}
    with refused(shop, errors.UnknownName, "relation C, where: rows are addressed", "possible custkey, name"):
        c.where(orders=[])
    with refused(shop, errors.UnknownKey, "view related, where: which rows"):
        shop.view("related").where()
    with refused(shop, errors.WrongValue, "relation C, where: custkey"):
        c.where(custkey="7")
    with refused(shop, errors.UnknownName, "view tags, where: rows are addressed"):
        shop.view("tags").where(value=1)


def test_some_rows(shop: Database) -> None:
    every = shop.relation("M").rows()
    for n in range(6):
        some = shop.relation("M").limit(n)
        assert len(some) == min(n, 4) and all(row in every for row in some)
    assert alike(shop.view("parts").limit(9)) == alike(shop.view("parts").rows())
    for wrong in (-1, True, 1.5, "2"):
        with pytest.raises(errors.WrongValue, match="limit: rows"):
            shop.view("parts").limit(wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.WrongValue, match="batches: rows"):
        shop.view("parts").batches(0)


def test_a_multiplicity_below_0_has_no_nested_form(tmp_path: Any) -> None:
    @rn.view
    def difference(C: Bag[Customer], D: Bag[Customer]) -> Any:
        return C - D

    with opened(tmp_path / "state") as db:
        db.relation("D", Customer, key="custkey")
        db.create(difference)
        db.load("D", [BOB])
        with pytest.raises(errors.EvaluationError, match="less than 0 times"):
            db.view("difference").to_arrow()


@rn.record
class Counted:
    n: int | None
    small: rn.Int | None
    k: int
    inside: Bag["Inner"]


@rn.record
class Inner:
    m: int | None


PANDAS = """
import sys
import pandas
import ripplenest as rn

with rn.open(sys.argv[1]) as db:
    found = db.relation("R").to_pandas()
    print(found.dtypes.astype(str).to_dict())
    with db.batch() as b:
        b.upsert("R", found)
    print(dict(b.report.rows_in))
    print(found["n"][0], found["inside"][0][0]["m"])
"""


def beside_pandas(program: str, state: Path) -> str:
    """What ``program`` prints about ``state`` where pandas is."""
    path = os.pathsep.join(filter(None, (str(CONNECT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-c", program, str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    if "No module named 'pandas'" in done.stderr:
        pytest.skip("pandas is not installed")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_integers_of_pandas_are_what_they_are(tmp_path: Path) -> None:
    """Beyond 53 bits, beside NULL, at every depth; and what was read can be written."""
    big = 2**53 + 1
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", Counted, key="k")
        db.load("R", [Counted(big, 1, 1, [Inner(big), Inner(None)]), Counted(None, None, 2, [])])
    types, written, values = beside_pandas(PANDAS, tmp_path / "state").splitlines()
    assert types == "{'n': 'Int64', 'small': 'Int32', 'k': 'int64', 'inside': 'object'}"
    assert written == "{}" and values == f"{big} {big}"


@rn.record
class Measured:
    k: int
    x: float | None


NAN = """
import sys
import pandas
import ripplenest as rn

with rn.open(sys.argv[1]) as db, db.batch() as b:
    b.insert("R", pandas.DataFrame({"k": [1, 2], "x": [float("nan"), 1.5]}))
"""


@pytest.mark.long
def test_nan_of_pandas_is_null(tmp_path: Path) -> None:
    """As pandas means it; that of a dict is the double that is not a number."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", Measured, key="k")
        db.load("R", [{"k": 3, "x": float("nan")}])
    assert beside_pandas(NAN, tmp_path / "state") == ""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", Measured, key="k")
        rows = db.relation("R").rows()
        assert repr(sorted((row["k"], row["x"]) for row in rows)) == "[(1, None), (2, 1.5), (3, nan)]"
