"""P11: programs, labels and stored rows do not depend on hash seeds or on the order of rows."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import random, sys, tempfile
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Item:
    part: int
    tags: Bag[str]

@rn.record
class Order:
    key: int
    date: str | None
    items: Bag[Item]

@rn.record
class Price:
    part: int
    price: float | None

@rn.view
def priced(O: Bag[Order], P: Bag[Price]):
    return [{"date": o.date,
             "items": [{"part": i.part, "tags": i.tags,
                        "prices": [p.price for p in P if p.part == i.part or p.price == 1.0]} for i in o.items]}
            for o in O]

def shuffled(rows):
    random.Random(int(sys.argv[1])).shuffle(rows)
    return rows

def item(n):
    return {"part": n % 3, "tags": ["a", "b"][: n % 2 + 1]}

with tempfile.TemporaryDirectory() as state, rn.open(state, engine="python") as db:
    db.relation("O", Order)
    db.relation("P", Price)
    db.load("O", shuffled([{"key": k // 2, "date": None, "items": [item(1), item(1), item(k)]} for k in range(6)]))
    view = db.create(priced)
    with db.batch(source="s", seq=1) as b:
        b.insert("P", shuffled([{"part": n % 4, "price": float(n)} for n in range(8)]))
        b.delete("O", shuffled([{"key": 1, "date": None, "items": [item(1), item(2), item(1)]}]))
        b.insert("O", shuffled([{"key": 9, "date": "d", "items": [item(2), item(2)]} for _ in range(2)]))
    print(rn.explain(priced))
    snapshot = db._store.snapshot()
    for table in sorted(db._store.tables()):
        print(table, sorted(map(repr, snapshot.scan(table).counts().items())))
"""

RANDOM = """
import hashlib, random, sys
sys.path.insert(0, sys.argv[2])
from ripplenest.delta.compile import compile_view
from ripplenest.nrc.bags import BagValue
from ripplenest.plan.planned import plan
from support.choices import seeded
from support.correlated import correlated_case
from support.examples import QUERIES
from support.programs import Running, query_of
from support.strategies import random_case

def shuffled(mapping):
    pairs = list(mapping.items())
    random.Random(int(sys.argv[1])).shuffle(pairs)
    return dict(pairs)

def reordered(part):
    if isinstance(part, BagValue):
        return BagValue(shuffled(part.counts))
    return shuffled({label: reordered(bag) for label, bag in part.items()})

def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()

for name, query in QUERIES.items():
    program = compile_view(query).program
    print(name, program.fingerprint, digest(repr((program.maps, program.statements))))
for seed in range(12):
    case = (correlated_case if seed % 2 else lambda c, n: random_case(c, n))(seeded(seed), 2)
    planned = plan(compile_view(query_of(case.schema, case.query)).program)
    running = Running.start(planned, {name: reordered(part) for name, part in case.parts.items()})
    for batch in case.batches:
        running = running.apply({name: reordered(part) for name, part in batch.delta.items()})
    tables = {name: sorted(map(repr, rows.items())) for name, rows in running.everything().items()}
    print(seed, planned.program.fingerprint, digest(repr((planned.levels, planned.indexes))), digest(repr(tables)))
"""
TESTS = Path(__file__).resolve().parent.parent


def output(folder: Path, seed: int, program: str = PROGRAM) -> str:
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-P", str(file), str(seed), str(TESTS)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_hash_seeds_and_the_order_of_rows_change_nothing(tmp_path: Path) -> None:
    """Three hash seeds, each with its own order of rows: the same program, labels and stored rows."""
    first, *others = [output(tmp_path, seed) for seed in (1, 2, 3)]
    assert "priced/D[priced.items]" in first
    assert all(other == first for other in others)


def test_programs_plans_and_digests_of_state_are_the_same(tmp_path: Path) -> None:
    """For the views of the golden files and random ones: fingerprints, definitions, statements, plans, stored rows."""
    first, *others = [output(tmp_path, seed, RANDOM) for seed in (1, 2, 3)]
    assert len(set(first.splitlines())) > 20
    assert all(other == first for other in others)
