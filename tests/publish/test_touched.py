"""Which rows of a view a change touches: exactly those, found without reading tables whole."""

from collections import Counter

import pytest
from publish.tables import index, shape_in
from publish.versions import Versions, random_versions
from support.shop import ANN, BOB, FILMS, Customer, customer, customers, item, liked, opened, order, parts

import ripplenest as rn
from ripplenest.data.columns import base_types
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.types import Bag
from ripplenest.nrc.values import from_value, to_value
from ripplenest.reading.nested import nested_bag
from ripplenest.reading.plain import plain
from ripplenest.reading.touched import places, touched, wanted_keys
from ripplenest.version.folding import Unfolding

COUNTS: Counter[str] = Counter()


def law(shape, history, since):
    """old ⊎ ⊖went ⊎ came = new, and a row that is not touched has the same value and multiplicity before and after."""
    new = Versions(history, wanted_keys(shape))
    old = new.at(since)
    found = touched(shape, new, since)
    if any(not_nested(nested_bag(shape, new.at(v)), shape.row) for v in (since, new.version)):
        COUNTS["not nested"] += 1
        return
    change, inside = changed(found, shape), updated(found, shape)
    assert set(new.scanned) <= keyless(shape)
    COUNTS["scanned"] += len(new.scanned)
    before, after = counted(found, found.before), counted(found, found.after)
    counts = [tables[shape.flat.table].counts() for tables in (history[since], history[-1])]
    nested = [{row: alone(shape, v, row) for row in c} for v, c in zip((old, new), counts, strict=True)]
    for row in {**counts[0], **counts[1]}:
        ends = [c.get(row, 0) for c in counts]
        values = [n.get(row) for n in nested]
        if row in before or row in after:
            assert [before[row], after[row]] == ends
        else:
            assert ends[0] == ends[1] and values[:1] == values[1:]  # as lists, in which NaN is the value NaN
        COUNTS["touched" if row in before or row in after else "untouched"] += 1
    both = {row for row in counts[0] if row in counts[1]}
    wanted = {row: nested[1][row] for row in both if [nested[0][row]] != [nested[1][row]]}
    assert inside == wanted and wanted.keys() <= {row for row, d in counted(found, found.deep).items() if d}
    whole = [nested_bag(shape, v) for v in (old, new)]
    assert whole[0] + change == whole[1]
    assert not found.missed
    COUNTS["updated"] += len(wanted)
    COUNTS["went"] += sum(n < 0 for _, n in change)


def alone(shape, version, row):
    """The nested value of one flat row."""
    types, tables = base_types(shape.flat.row), dict(version.history[-1])
    one = Versions(({**tables, shape.flat.table: Rows.of_counts(types, {row: 1})},), version.keys)
    ((value, _),) = nested_bag(shape, one)
    return value


def not_nested(bag, row):
    """Whether a bag inside of the rows has one less than 0 times: such a view is shown in parts alone."""
    try:
        from_value(BagValue(dict.fromkeys(bag.counts, 1)), Bag(row))
    except EvaluationError:
        return True
    return False


def counted(found, counts):
    """The touched rows with some of their counts."""
    return {row: n for (row, _), n in zip(found.rows.pairs(), counts.tolist(), strict=True)}


def changed(found, shape):
    """The nested values that went and came, as a bag; each came once, and none 0 times."""
    values, counts = found.changed()
    bag = BagValue.weighted(zip(values_of(values, shape), counts.tolist(), strict=True))
    assert len(bag.counts) == len(values)
    return bag


def updated(found, shape):
    """The rows with another nested value, and what it is."""
    places = found.updated()
    rows = [found.rows.pairs()[i][0] for i in places]
    return dict(zip(rows, values_of(found.nested_after(places), shape), strict=True))


def values_of(values, shape):
    """Nested columns as the calculus has them."""
    return [to_value(v, shape.row, "") for v in plain(values, shape.row)]


def keyless(shape):
    """The tables that no access key helps with: of labels without parameters, which every row holds."""
    tables = {place.table for held in places(shape).values() for place in held if not place.columns}
    tables |= {d.table for d in (shape.dictionary(site) for site in shape.sites) if not d.label_width}
    return tables | ({shape.flat.table} if not base_types(shape.flat.row) else set())


def sequences(first, views, batches=3):
    for seed in range(first, first + views):
        for shape, history in random_versions(seed, batches, databases=3):
            COUNTS["several sites"] += any(p.tag for held in places(shape).values() for p in held)
            for since in range(batches + 1):
                law(shape, history, since)


def test_exactly_the_rows_that_changed_or_hold_what_changed():
    """Law, for random views over random nested relations; each end of several batches, and several batches at once."""
    sequences(0, 14)
    assert COUNTS["updated"] > 30 and COUNTS["untouched"] > 100 and COUNTS["several sites"] > 3, COUNTS


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000_000, 1_002_000, 200))
def test_exactly_the_rows_that_changed_or_hold_what_changed_long(first):
    sequences(first, 200)


# ---------------------------------------------------------------- in a database


@pytest.mark.parametrize("view", [customers, parts, liked], ids=lambda v: v.name)
def test_a_table_without_its_key_is_scanned_and_named(folder, view):
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        old = db.create(view).bag()
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(9, 9, ("q",))])
        shape, snapshot = shape_in(db, view.name), db._state.snapshot()
        found = touched(shape, snapshot, db.version - 1)
        change = changed(found, shape)
        assert change and old + change == db.view(view.name).bag()
        wanted = wanted_keys(shape)
        assert found.missed and all(set(keys) <= set(wanted[table]) for table, keys in found.missed.items())


class Counting:
    """The tables of a snapshot, and which of them were scanned and had rows."""

    def __init__(self, tables):
        self._tables, self.scanned = tables, []

    def __getattr__(self, name):
        return getattr(self._tables, name)

    def scan(self, table):
        rows = self._tables.scan(table)
        self.scanned += [table] * (not rows.is_empty)
        return rows


def test_bags_that_are_arrays_are_not_read_whole(folder):
    """Neither for the labels of the bag that comes nor for those of the bag that goes, at any depth of it."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders")
        db.load("C", [ANN, BOB, *(customer(k, "Eve", [order(k, item(k, k, ("e",)))]) for k in range(100, 110))])
        db.create(customers)
        index(db, "customers")
        with db.batch() as b:
            b.upsert("C", [{**ANN, "orders": [order(11, item(1, 2, ("b",))), order(13)]}])
        tables = Counting(db._state.snapshot().tables)
        snapshot = Unfolding(tables, db._declared.folds)
        shape = shape_in(db, "customers")
        found = touched(shape, snapshot, db.version - 1)
        assert sorted(n for _, n in changed(found, shape)) == [-1, 1] and len(found.rows) == 1
        assert tables.scanned == []


def test_a_bag_that_comes_again_under_other_labels_is_no_update(folder):
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        with db.batch() as b:
            orders = b.at("C", custkey=7).orders
            orders.delete(ANN["orders"])
            orders.insert(ANN["orders"])
        shape = shape_in(db, "customers")
        found = touched(shape, db._state.snapshot(), db.version - 1)
        assert found.deep.sum() == 1 and not len(found.updated()) and not changed(found, shape)
