"""Where rows are linked with a few others, what is stored of a view grows as its rows do, and what a batch reads does
not grow: rows that have nothing to do with each other are never pairs."""

import tempfile
from collections import Counter
from typing import Any

import pytest
from support.laws import law
from support.linked import RELATIONS, linked_rows, linked_view
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest.delta.program import MapKind
from ripplenest.run import running
from ripplenest.state.report import Report
from ripplenest.vector import windows

COUNTS: Counter[str] = Counter()
FEW, MORE = 16, 96  # rows of C
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("C", {"id": 4, "g": 1, "w": 500}),
    ("O", {"id": -1, "c": 4, "at": 490, "n": 3, "xs": [{"no": 0, "n": 2}], "ys": [{"no": 0, "n": 1}]}),
    ("P", {"id": 9, "c": 4, "no": 1, "n": 30}),
    ("R", {"id": 7, "o": 5, "at": 490, "n": 3}),
]
SLACK = 40  # rows, by which the few may happen to be fewer


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders are kept however few rows there are."""
    for module, name in ((running, "WORTH"), (windows, "WORTH"), (windows, "TIMES")):
        monkeypatch.setattr(module, name, 0)


@pytest.mark.usefixtures("at_once")
@law(linked_view, examples=many(120, 1_500), tries=60)
def test_linked_rows(tmp_path_factory: pytest.TempPathFactory, view: str) -> None:
    path = tmp_path_factory.mktemp("linked", numbered=True)
    (path / "views.nrc").write_text(f"{RELATIONS}\nview V = {view}\n", encoding="utf-8")
    program = rn.read(path / "views.nrc")
    few, reports = measured(program, FEW)
    stored, later = measured(program, MORE)
    grown = {name: (few[name], n) for name, n in stored.items() if n > 2 * few[name] * MORE / FEW + SLACK}
    assert not grown, f"{grown}\n{view}"
    for before, after in zip(reports, later, strict=True):
        out = sum(after.rows_out.values()) - sum(before.rows_out.values())
        assert after.rows_read - before.rows_read <= 4 * max(out, 0) + SLACK, (before, after, view)
        COUNTS["read"] += after.rows_read > 0
    kinds = {name.split("[")[0].removeprefix("V/") for name in stored}
    COUNTS.update(kinds & {"Dom", "D", "G", "O", "T"})
    COUNTS["joined"] += any(name.startswith("J/") for name in stored)


def measured(program: rn.Program, size: int) -> tuple[dict[str, int], list[Report]]:
    """How many rows each map has, by name, and what small batches read."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        for name, rows in linked_rows(size).items():
            db.relation(program.relation(name))
            db.load(name, rows)
        db.create(program.view("V"))
        size_of = db._state.snapshot().size
        stored = {m.name: size_of(m.name) for m in db._declared.plan().maps if m.kind is not MapKind.AUXILIARY}
        reports = []
        for relation, row in CHANGES:
            with db.batch(policy="incremental") as b:
                b.upsert(relation, [row])
            reports.append(b.report)
        with db.batch(policy="incremental") as b:
            b.delete_key("O", id=5)
        return stored, [*reports, b.report]


def test_enough_was_met() -> None:
    """Changes that read rows, and maps of each kind: places, dictionaries, groups, rows in order, first rows, joins."""
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert all(COUNTS[what] > many(3, 100) for what in ("read", "Dom", "D", "G", "O", "T", "joined")), COUNTS
