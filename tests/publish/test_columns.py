"""What values, types and names are in a published table."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import cycle, islice

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from publish.tables import READERS, by_deltalake, by_polars, flat_bag, folders, nested_bag, stored, target
from publish.versions import Versions, passed_on
from support.programs import nested_of

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError, QueryError
from ripplenest.nrc.types import UNIT, Bag, Base, Record, nullable
from ripplenest.nrc.values import NAN
from ripplenest.publish import check_target, publish
from ripplenest.publish.columns import BUCKET
from ripplenest.reading.touched import wanted_keys

LONG = Base("long")
VALUES = {
    Base("bool"): (True, False),
    Base("int"): (2**31 - 1, -(2**31)),
    Base("long"): (2**63 - 1, -(2**63)),
    Base("double"): (NAN, float("inf"), 0.0, float("-inf"), 5e-324),
    Base("decimal", precision=38, scale=10): (Decimal("1" * 28 + ".0000000001"), Decimal("-0.0000000001")),
    Base("decimal", precision=5, scale=0): (Decimal(99999), Decimal(0)),
    Base("string"): ("", "a\0b", "\U0010ffff" * 40, "NULL"),
    Base("date"): (date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10)),
    Base("timestamp"): (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(1582, 10, 10, 3, tzinfo=UTC),
    ),
    Base("binary"): (b"", b"\x00\xff"),
}
KINDS = tuple((f"f{i}", nullable(t)) for i, t in enumerate(VALUES))
INNER = Record((("all", Record(KINDS)), ("deeper", Bag(nullable(LONG), nullable=True))))
ROW = Record((("key", LONG), *KINDS, ("inside", Record((("bag", Bag(INNER, nullable=True)),)))))


def every_kind(shift):
    """Rows with each value of each kind, and NULL; NULL bags, empty bags, and bags with NULL in them."""
    domains = [islice(cycle((*values, None)), shift, None) for values in VALUES.values()]
    rows = []
    for key, values in enumerate(islice(zip(*domains, strict=True), 6)):
        fields = tuple(zip(dict(KINDS), values, strict=True))
        inner = [(("all", fields), ("deeper", deeper)) for deeper in (None, BagValue(), BagValue.of([1, None, None]))]
        bag = (None, BagValue(), BagValue.of(inner))[(key + shift) % 3]
        rows.append((("key", key), *fields, ("inside", (("bag", bag),))))
    return BagValue.of(rows)


def test_every_kind_of_value_comes_back(folder):
    """Written whole, by a merge, and again: what comes back is the view, for every reader, and NULL is not empty."""
    shape, history = passed_on(ROW, *(every_kind(shift) for shift in range(3)))
    nested, shredded = target("V", folder / "n"), target("V", folder / "s", "shredded")
    tables = folders(shredded, shape)
    assert list(tables) == [None, "R.inside.bag", "R.inside.bag.deeper"]
    for version in range(3):
        at = Versions(history[: version + 1], wanted_keys(shape))
        for to in (nested, shredded):
            publish(shape, at, to, "test")
        for read in READERS:
            assert nested_bag(read(nested.path), shape) == every_kind(version)
            for site, path in tables.items():
                assert flat_bag(read(path), shape, site) == stored(shape, history[version], site), site


def test_every_field_may_be_null(folder):
    """Also where the view's may not, and at every depth."""
    shape, history = passed_on(ROW, every_kind(0))
    publish(shape, Versions(history, {}), target("V", folder / "n"), "test")
    todo = list(pa.schema(DeltaTable(str(folder / "n")).schema().to_arrow()))
    seen = 0
    while todo:
        field = todo.pop()
        assert field.nullable, field
        t = field.type
        todo += [t.field(i) for i in range(t.num_fields)]
        seen += 1
    assert seen > 25


@pytest.mark.parametrize("layout", ["nested", "shredded"])
@pytest.mark.parametrize(
    ("row", "rows", "shown"),
    [
        (LONG, (1, 1, 2), [{"value": 1}, {"value": 1}, {"value": 2}]),
        (nullable(LONG), (None, 1), [{"value": None}, {"value": 1}]),
        (Bag(LONG), (BagValue.of([1, 1]), BagValue()), [{"value": []}, {"value": [1, 1]}]),
        (Bag(Bag(LONG)), (BagValue.of([BagValue.of([2])]),), [{"value": [[2]]}]),
        (UNIT, ((), ()), [{}, {}]),
        (Record((("u", UNIT), ("b", Bag(UNIT)))), ((("u", ()), ("b", BagValue.of([(), ()]))),),
         [{"u": {"unit": None}, "b": [{"unit": None}] * 2}]),
    ],
    ids=["base", "null", "bag", "bag of bags", "unit", "inner unit"],
)  # fmt: skip
def test_rows_that_are_no_records(folder, layout, row, rows, shown):
    """They are a column ``value``; records without fields have a field that is always NULL, inside of others."""
    bag = BagValue.of(rows)
    shape, history = passed_on(row, bag + bag, bag, bag + bag)
    to = target("V", folder / "t", layout)
    for version in (0, 1, 2):
        done = publish(shape, Versions(history[: version + 1], {}), to, "test")
        assert done.changed
    if layout == "nested":
        found = [{k: v for k, v in raw.items() if k not in ("_id", BUCKET)} for raw in by_polars(to.path)]
        assert sorted(map(repr, found)) == sorted(map(repr, shown * 2))
    else:
        assert sum(raw["_multiplicity"] for raw in by_polars(to.folder("flat"))) == 2 * len(rows)


def test_a_multiplicity_below_zero_has_no_nested_form(folder):
    """The message names the view; the table stays as it is; shredded, the multiplicity is a number like others."""
    row = Record((("a", LONG), ("b", Bag(LONG))))
    one = (("a", 1), ("b", BagValue.of([5])))
    negative = (("a", 1), ("b", -BagValue.of([5])))
    shape, history = passed_on(
        row, BagValue.of([one]), BagValue.of([negative]), -BagValue.of([(("a", 2), ("b", BagValue()))])
    )
    nested, shredded = target("V", folder / "n"), target("V", folder / "s", "shredded")
    for to in (nested, shredded):
        publish(shape, Versions(history[:1], {}), to, "test")
    for version in (1, 2):
        at = Versions(history[: version + 1], {})
        with pytest.raises(EvaluationError, match="view V") as caught:
            publish(shape, at, nested, "test")
        assert caught.value.got == -1 and "shredded" in str(caught.value)
        with pytest.raises(EvaluationError, match="view V"):
            publish(shape, at, target("V", folder / "new"), "test")
        publish(shape, at, shredded, "test")
        assert -1 in {raw["_multiplicity"] for folder in folders(shredded, shape).values() for raw in by_polars(folder)}
    assert nested_bag(by_deltalake(nested.path), shape) == BagValue.of([one])
    assert DeltaTable(nested.path).version() == 0


# ---------------------------------------------------------------- names

GOOD = ("a.b", "a'b", 'a"b', "é", "名", "select", "s", "t", "s.x", "t._id", "_id2", "1a", "-", "a/b", "a%b", "a\\b",
        "$", "😀", "a:b", "a#b", "a?b", "a*b", "a[0]", "x" * 300, "value", "_c", "_change")  # fmt: skip
BAD = ("a b", "a,b", "a;b", "a{b", "a}b", "a(b", "a)b", "a=b", "a\tb", "a\nb", "a`b", "", "\0", "a\x1fb")
OURS = ("_id", "_ID", "id_bucket", "_op", "_change_type", "_Commit_Version", "_commit_timestamp", "__delta_rs_path")


def with_names(names, place):
    """A shape with fields called ``names``: columns, or fields of a struct in an array; and two versions of it."""
    fields = Record(tuple((name, LONG) for name in names))
    versions = [tuple((name, i) for i, name in enumerate(names, start)) for start in (1, 2)]
    if place == "column":
        return passed_on(fields, *(BagValue.of([v]) for v in versions))
    return passed_on(Record((("in", Bag(fields)),)), *(BagValue.of([(("in", BagValue.of([v])),)]) for v in versions))


@pytest.mark.parametrize("place", ["column", "inside"])
def test_names_that_come_back(folder, place):
    """In rows that are written, and in rows that are merged."""
    shape, history = with_names(GOOD, place)
    to = target("V", folder / "t")
    for version in (0, 1):
        publish(shape, Versions(history[: version + 1], {}), to, "test")
        for read in READERS:
            assert nested_bag(read(to.path), shape) == nested_of(shape, history[version])


@pytest.mark.parametrize("layout", ["nested", "shredded"])
@pytest.mark.parametrize("place", ["column", "inside"])
def test_names_that_a_delta_table_cannot_have(folder, place, layout):
    """They are refused before anything is written, with the place and the name."""
    top = place == "column" or layout == "shredded"  # where the columns of a table are
    for name in (*BAD, *(OURS if top else ())):
        shape, history = with_names((name, "z"), place)
        to = target("V", folder / "t", layout)
        with pytest.raises(QueryError, match="publish V") as caught:
            check_target(shape, to)
        assert ascii(name)[1:-1] in str(caught.value)
        with pytest.raises(QueryError, match="publish V"):
            publish(shape, Versions(history, {}), to, "test")
    assert not list(folder.iterdir())
    if not top:
        for name in OURS[:-1]:
            check_target(with_names((name, "z"), place)[0], target("V", folder / "t", layout))


@pytest.mark.parametrize(("names", "refused"), [(("a", "A"), True), (("É", "é"), True), (("a", "b"), False)])
def test_names_that_differ_in_case_only(folder, names, refused):
    for inner in (False, True):
        fields = Record(tuple((name, LONG) for name in names))
        row = Record((("in", Bag(fields)),)) if inner else fields
        shape, _ = passed_on(row, BagValue())
        for layout in ("nested", "shredded"):
            if refused:
                with pytest.raises(QueryError, match="upper from lower"):
                    check_target(shape, target("V", folder, layout))
            else:
                check_target(shape, target("V", folder, layout))


def test_columns_of_a_shredded_view_that_would_be_there_twice(folder):
    for field, place in (("label", "inside"), ("_multiplicity", "inside"), ("_multiplicity", "column")):
        shape, _ = with_names((field, "z"), place)
        check_target(shape, target("V", folder, "nested"))
        with pytest.raises(QueryError, match=field):
            check_target(shape, target("V", folder, "shredded"))
