"""``spark.read.format("ripplenest")``: what users write, and DataFrames of our own that do not pass the driver."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import ArrayType, StructType
from support.shapes import changes, odd_names, passed_or_made, the_same_everywhere
from support.shop import ANN, BOB, FILMS, opened, parts

import ripplenest as rn
from ripplenest import errors
from ripplenest.source import frames
from ripplenest.source.source import Source

VIEWS = (passed_or_made, the_same_everywhere, odd_names, parts)


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[rn.Database, Path]]:
    rn.register(spark)
    folder = tmp_path_factory.mktemp("state")
    with opened(folder, spark=spark, engine="local") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
        after = changes(db)
        for _ in range(3):
            next(after)
        yield db, folder


def plain(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple(plain(v) for v in value)
    return tuple(sorted(map(plain, value), key=repr)) if isinstance(value, list) else value


def rows(df: DataFrame) -> Counter[Any]:
    return Counter(map(plain, df.collect()))


def read(spark: SparkSession, folder: Path, **options: object) -> DataFrame:
    return spark.read.format("ripplenest").options(**options).load(str(folder))


LONG = [pytest.param(view, marks=pytest.mark.long) for view in (parts, passed_or_made, the_same_everywhere)]


@pytest.mark.parametrize("view", [odd_names, *LONG], ids=lambda v: v.name)
def test_tasks_read_what_the_driver_reads(shop: Any, view: rn.View, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, types and rows of nested rows, of flat ones and of dictionaries are the same, whoever reads them."""
    db, _ = shop
    handle = db.view(view.name)

    def everything() -> list[DataFrame]:
        return [handle.nested(), handle.flat(), *list(handle.dictionaries().values())[:1]]

    small = everything()
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    for mine, large in zip(small, everything(), strict=True):
        assert shape(large.schema) == shape(mine.schema)
        assert rows(large) == rows(mine)


def shape(t: Any) -> Any:
    """Names and types, without what may be NULL: Arrow has it of every column."""
    match t:
        case StructType():
            return [(f.name, shape(f.dataType)) for f in t]
        case ArrayType():
            return [shape(t.elementType)]
    return t.simpleString()


def test_changes_of_tasks(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    db, _ = shop
    found = db.view("parts").changes(db.version - 2)
    small = [found.flat, found.dictionaries["parts.big"]]
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    for mine, large in zip(small, [found.flat, found.dictionaries["parts.big"]], strict=True):
        assert rows(large) == rows(mine)


def test_the_format(shop: Any, spark: SparkSession) -> None:
    """Options as a user gives them, also from SQL; a version, and what changed since."""
    db, folder = shop
    assert rows(read(spark, folder, view="parts")) == rows(db.view("parts").nested())
    assert rows(read(spark, folder, relation="M", LAYOUT="flat")) == rows(db.relation("M").flat())
    before = read(spark, folder, view="parts", asOf=db.version - 1)
    assert rows(before) == rows(db.view("parts").as_of(db.version - 1).nested())
    since = read(spark, folder, view="parts", since=db.version - 1)
    assert rows(since) == rows(db.view("parts").changes(db.version - 1).nested)
    spark.sql(f"CREATE TEMPORARY VIEW films USING ripplenest OPTIONS (path '{folder}', relation 'M', layout 'flat')")
    (n,) = spark.sql("SELECT count(*) AS n FROM films WHERE gen = 'Drama'").collect()
    assert n["n"] == db.relation("M").flat().filter("gen = 'Drama'").count() > 0


def test_a_dataframe_is_read_with_one_filter_and_another(shop: Any, spark: SparkSession) -> None:
    """In one query and one after the other, also where Spark may hand filters to who reads."""
    db, folder = shop
    pushdown = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(pushdown)
    spark.conf.set(pushdown, "true")
    try:
        df, wanted = read(spark, folder, relation="M", layout="flat"), rows(db.relation("M").flat())
        drama, others = df.filter("gen = 'Drama'"), df.filter("gen <> 'Drama' OR gen IS NULL")
        assert 0 < sum(rows(drama).values()) < sum(wanted.values())
        assert rows(df) == rows(drama.unionAll(others)) == wanted
    finally:
        spark.conf.set(pushdown, before)


def test_what_has_no_rows_is_read(spark: SparkSession, tmp_path: Path) -> None:
    rn.register(spark)
    with opened(tmp_path / "s") as db:
        assert db.relation("M").size == 0
    assert [read(spark, tmp_path / "s", relation="M", layout=of).count() for of in ("nested", "flat")] == [0, 0]


@pytest.mark.parametrize(
    "options, wanted",
    [
        ({}, "the option view or relation"),
        ({"view": "parts", "colour": "red"}, "there is no such option"),
        ({"view": "nothing"}, "there is no such view"),
        ({"view": "parts", "layout": "round"}, "there is no such layout"),
        ({"view": "parts", "layout": "dictionary"}, "a dictionary is that of a site"),
        ({"view": "parts", "layout": "dictionary", "site": "x"}, "there is no such dictionary"),
        ({"view": "parts", "asOf": "soon"}, "not a number"),
        ({"view": "parts", "asOf": "999"}, "999"),
        ({"view": "odd_names"}, "differ in case only"),
        ({"view": "parts", "since": "-1"}, "0 or later, or start"),
    ],
)
def test_what_is_refused(shop: Any, options: dict[str, str], wanted: str) -> None:
    _, folder = shop
    with pytest.raises(errors.RipplenestError) as refused:
        Source({**options, "path": str(folder)})
    assert wanted in str(refused.value)


def test_what_spark_says_of_it(shop: Any, spark: SparkSession) -> None:
    _, folder = shop
    with pytest.raises(PySparkException, match="the option view or relation"):
        read(spark, folder)


def test_no_state_is_made(tmp_path: Path) -> None:
    for folder in (tmp_path / "nothing", tmp_path):
        with pytest.raises(errors.WrongValue, match="there is no state"):
            Source({"path": str(folder), "view": "parts"})
    assert list(tmp_path.iterdir()) == []


def followed(spark: SparkSession, state: Path, folder: Path, **options: object) -> list[tuple[int, list[Any]]]:
    """What a query that goes on from its checkpoint is given, micro-batch by micro-batch."""
    given: list[tuple[int, list[Any]]] = []

    def write(df: DataFrame, batch: int) -> None:
        given.append((batch, [plain(row) for row in df.collect()]))

    stream = spark.readStream.format("ripplenest").options(**options).load(str(state))
    query = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()
    return given


def test_a_stream_of_changes(spark: SparkSession, tmp_path: Path) -> None:
    """All that is there, and then what each batch changed, once, also by a query that starts again."""
    rn.register(spark)
    asked = {"relation": "M", "since": "start"}
    with opened(tmp_path / "state") as db:
        db.load("M", FILMS)
        total: Counter[Any] = Counter()
        for turn, movies in enumerate((FILMS[:1], FILMS[1:])):
            for batch, rows in followed(spark, tmp_path / "state", tmp_path, **asked):
                assert batch == turn and len(rows) == (len(FILMS), 1)[turn]
                for *row, n in rows:
                    total[tuple(row)] += n
            wanted = Counter(tuple(m.values()) for m in db.relation("M").rows())
            assert {row: n for row, n in total.items() if n} == wanted
            with db.batch() as b:
                b.delete("M", movies)


@pytest.mark.long
def test_streams_that_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A checkpoint of another state, and one who does not say from when on."""
    rn.register(spark)
    asked = {"relation": "M", "since": "start"}
    for name in ("state", "other"):
        with opened(tmp_path / name) as db:
            db.load("M", FILMS)
    followed(spark, tmp_path / "state", tmp_path, **asked)
    with pytest.raises(PySparkException, match="a checkpoint of another state"):
        followed(spark, tmp_path / "other", tmp_path, **asked)
    with pytest.raises(PySparkException, match="from when on"):
        followed(spark, tmp_path / "state", tmp_path, relation="M")
