"""What a batch reads and says so, and states that cannot be opened."""

import json

from support.shop import customer, item, opened, order, parts

from ripplenest.store.specs import Change


def test_a_search_without_an_access_key_reads_the_table_once_and_says_so(tmp_path):
    """Rows that operations look for are rows read: the first search by a field that is no key costs the table."""
    read = []
    with opened(tmp_path / "state") as db:
        db.load("C", [customer(i, str(i), [order(i, item(1))]) for i in range(50)])
        for seq in (1, 2):
            with db.batch("test", seq) as b:
                b.at("C", name="7").orders.at(orderkey=7).items.insert([item(seq)])
            read.append(b.report.rows_read)
    assert read[0] >= 50
    assert 0 < read[1] <= 5


def test_a_state_that_says_less_opens(tmp_path):
    """Relations and views that were stored without saying what is immutable, or how they were compiled."""
    with opened(tmp_path / "state") as db:
        db.create(parts)
        meta = {key: json.loads(text) for key, text in db._store.all_meta().items() if key.startswith(("rel", "view"))}
        for stored in meta.values():
            for later in ("immutable", "arrays", "options"):
                stored.pop(later, None)
        db._store.commit(Change(meta={key: json.dumps(stored) for key, stored in meta.items()}), db.version)
    with opened(tmp_path / "state") as db:
        db.create(parts)
        with db.batch() as b:
            b.insert("C", [customer(1)])
        assert db.view("parts").rows() == parts(C=[customer(1)])
