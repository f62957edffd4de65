"""What stands behind NULL in a column of Arrow is nobody's value: no scalar reads it, and none fails by it."""

from pathlib import Path

import pyarrow as pa

import ripplenest as rn
from ripplenest import Bag

GREATEST = 2**63 - 1


@rn.record
class Reading:
    k: int
    a: int | None
    b: rn.Int | None
    f: float | None
    t: str | None


@rn.view
def computed(R: Bag[Reading]):
    return [
        {
            "k": r.k,
            "times": r.a * 3,
            "minus": -r.a,
            "twice": r.b + r.b,
            "by": r.f / r.f,
            "cut": int(r.f),
            "t": r.t.upper(),
        }
        for r in R
    ]


def behind(values: pa.Array) -> pa.Array:
    """The first of ``values``, and NULL with the others behind it."""
    bits = pa.array([True] + [False] * (len(values) - 1)).buffers()[1]
    return pa.Array.from_buffers(values.type, len(values), [bits, *values.buffers()[1:]])


def test_no_scalar_reads_what_stands_behind_null(folder: Path) -> None:
    rows = pa.table({
        "k": [1, 2, 3],
        "a": behind(pa.array([5, GREATEST, -GREATEST - 1])),
        "b": behind(pa.array([5, 2**31 - 1, -(2**31)], pa.int32())),
        "f": behind(pa.array([1.0, 0.0, 1e300])),
        "t": behind(pa.array(["a", "bb", "c"])),
    })  # fmt: skip
    with rn.open(folder / "state", engine="local") as db:
        db.relation("R", Reading, key="k")
        db.create(computed)
        with db.batch() as b:
            b.insert("R", rows)
        nothing = dict.fromkeys(("times", "minus", "twice", "by", "cut", "t"))
        first = {"k": 1, "times": 15, "minus": -5, "twice": 10, "by": 1.0, "cut": 1, "t": "A"}
        assert sorted(db.view("computed").rows(), key=lambda row: row["k"]) == [
            first, {"k": 2, **nothing}, {"k": 3, **nothing}
        ]  # fmt: skip
        assert db.verify().ok
        with db.batch() as b:
            b.delete("R", rows)
        assert db.view("computed").rows() == []
