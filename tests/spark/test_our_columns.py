"""Columns of ours beside fields of users that are called like them, in process and on Spark."""

from pathlib import Path
from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Tag:
    label: str
    _multiplicity: int


@rn.record
class Doc:
    id: int
    Label: str
    _multiplicity: int
    tags: Bag[Tag]


@rn.view
def docs(D: Bag[Doc]) -> list[Any]:
    return [
        {
            "id": d.id,
            "_multiplicity": d._multiplicity,
            "tags": [{"label": t.label, "_multiplicity": t._multiplicity} for t in d.tags],
        }
        for d in D
    ]


def test_both_are_there(spark: Any, tmp_path: Path) -> None:
    """Flat rows, dictionaries and changes, each column by a name of its own."""
    with rn.open(tmp_path / "state", spark=spark, engine="local") as db:
        db.relation("D", Doc, key="id")
        db.create(docs)
        with db.batch() as b:
            b.insert("D", [{"id": 1, "Label": "x", "_multiplicity": 7, "tags": [{"label": "t", "_multiplicity": 8}]}])
        view = db.view("docs")
        changes = view.changes(since=2)
        (flat,), (entry,), (nested,) = (
            table.to_pylist()
            for table in (view.flat_to_arrow(), view.dictionaries_to_arrow()["docs.tags"], changes.to_arrow())
        )
        assert (flat["_multiplicity"], flat["__multiplicity"]) == (7, 1)
        assert [*entry] == ["_label", "label", "_multiplicity", "__multiplicity"]
        assert (entry["label"], entry["_multiplicity"], entry["__multiplicity"]) == ("t", 8, 1)
        tags = [{"label": "t", "_multiplicity": 8}]
        assert nested == {"id": 1, "_multiplicity": 7, "tags": tags, "__multiplicity": 1}
        assert view.flat().columns == changes.flat.columns == [*flat]
        assert view.dictionaries()["docs.tags"].columns == changes.dictionaries["docs.tags"].columns == [*entry]
        assert changes.nested.collect()[0].asDict(recursive=True) == nested
