"""P11: programs, labels and stored rows do not depend on hash seeds or on the order of rows."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from attrs import frozen
from support.choices import Choices, recorded
from support.correlated import correlated_case
from support.laws import law
from support.sizes import many
from support.strategies import Case, random_case

SEEDS = (1, 2, 3)
pytestmark = pytest.mark.xdist_group("seeds")  # each worker would start the processes anew

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

with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
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
import hashlib, json, random, sys
sys.path.insert(0, sys.argv[2])
from ripplenest.delta.compile import compile_view
from ripplenest.nrc.bags import BagValue
from ripplenest.plan.planned import plan
from support.choices import Choices, replayed
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

def answer(kind, made):
    case = (correlated_case if kind == "correlated" else random_case)(Choices(replayed(made)), 2)
    planned = plan(compile_view(query_of(case.schema, case.query)).program)
    running = Running.start(planned, {name: reordered(part) for name, part in case.parts.items()})
    for batch in case.batches:
        running = running.apply({name: reordered(part) for name, part in batch.delta.items()})
    tables = {name: sorted(map(repr, rows.items())) for name, rows in running.everything().items()}
    return planned.program.fingerprint, digest(repr((planned.levels, planned.indexes))), digest(repr(tables))

for name, query in QUERIES.items():
    program = compile_view(query).program
    print(name, program.fingerprint, digest(repr((program.maps, program.statements))))
print(flush=True)
for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
"""
TESTS = Path(__file__).resolve().parent.parent


def started(folder: Path, seed: int, program: str) -> "subprocess.Popen[str]":
    """A program with a hash seed, which is also its order of rows; in a file of its own, written before it starts."""
    file = folder / f"program-{seed}.py"
    file.write_text(program, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-P", str(file), str(seed), str(TESTS)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_hash_seeds_and_the_order_of_rows_change_nothing(tmp_path: Path) -> None:
    """Three hash seeds, each with its own order of rows: the same program, labels and stored rows."""
    runs = [started(tmp_path, seed, PROGRAM) for seed in SEEDS]
    first, *others = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert "priced/D[priced.items]" in first
    assert all(other == first for other in others)


@frozen
class Asked:
    """Processes with other hash seeds, which answer for cases; what they say of the views of the golden files."""

    runs: tuple["subprocess.Popen[str]", ...]
    golden: tuple[tuple[str, ...], ...]

    def about(self, kind: str, made: list[int]) -> list[str]:
        """The answer of each process."""
        return [_ask(run, kind, made) for run in self.runs]


def _ask(run: "subprocess.Popen[str]", kind: str, made: list[int]) -> str:
    assert run.stdin and run.stdout
    print(json.dumps((kind, made)), file=run.stdin, flush=True)
    return run.stdout.readline()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("asked")
    with ExitStack() as stack:
        runs = tuple(stack.enter_context(started(folder, seed, RANDOM)) for seed in SEEDS)
        golden = tuple(tuple(iter(run.stdout.readline, "\n")) for run in runs if run.stdout)
        yield Asked(runs, golden)


def test_programs_are_the_same(asked: Asked) -> None:
    """For the views of the golden files: fingerprints, definitions and statements."""
    first, *others = asked.golden
    assert len(set(first)) > 8
    assert all(other == first for other in others)


MAKERS: dict[str, Callable[[Choices, int], Case]] = {"random": random_case, "correlated": correlated_case}


@pytest.mark.parametrize("kind", MAKERS)
@law(examples=many(5, 12), shown=lambda c, kind: MAKERS[kind](c, 2))
def test_plans_and_digests_of_state_are_the_same(asked: Asked, kind: str, c: Choices) -> None:
    """For random views: fingerprints, plans, stored rows."""
    noted, made = recorded(c.number)
    MAKERS[kind](noted, 2)
    first, *others = asked.about(kind, made)
    assert len(json.loads(first)) == 3
    assert all(other == first for other in others)
