"""The trigger programs of the joins of the paper and of nested TPC-H with all their maps: golden, and run.

``pytest --golden-update tests/api/test_explain_program.py`` writes ``tests/golden/program.txt`` anew.
"""

import pytest
from support.choices import seeded
from support.examples import QUERIES
from support.golden import blocks, write
from support.programs import Running, planned
from support.schemas import Schema, random_database
from support.updates import random_batch, shredded_database

from ripplenest.delta.compile import Options
from ripplenest.explanation import explain
from ripplenest.explanation.printout import sections

STAGE = "program"
SHOWN = ("Maps", "Trigger program", "Dependencies")
WIDTH = 110
NAMES = tuple(name for name in QUERIES if name.startswith(("flatten", "three-way", "self-join", "F2", "NF2")))


def text(name: str) -> str:
    found = sections(explain(QUERIES[name], materialize="full").facts, WIDTH)
    shown = [s for s in found if s.title.partition(". ")[2].startswith(SHOWN)]
    assert len(shown) == len(SHOWN)
    return "\n".join("\n".join((s.title, *(line for _, line in s.lines))) for s in shown)


def test_the_text(golden_update: bool) -> None:
    if golden_update:
        write(STAGE, {name: text(name) for name in NAMES})
    found = blocks(STAGE)
    assert list(found) == list(NAMES)
    for name, block in found.items():
        assert block == text(name), f"{name}; pytest --golden-update {__name__} writes it anew"


@pytest.mark.parametrize("name", NAMES)
def test_the_program_keeps_what_its_definitions_say(name: str) -> None:
    """Law 6, for every map: after batches, what the triggers keep is what is computed from scratch."""
    q, schema = QUERIES[name], Schema(QUERIES[name].relations)
    _, program = planned(q, Options("full"))
    for seed in range(4):
        c = seeded(seed)
        parts = shredded_database(schema, random_database(c, schema))
        running = Running.start(program, parts)
        for _ in range(2):
            batch = random_batch(c, schema, parts)
            running, parts = running.apply(batch.delta), batch.after(parts)
            assert running.maps() == Running.start(program, parts).maps()
