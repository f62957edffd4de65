"""R34, R35: after thousands of batches a process and a state take up what they took up before, and so does a batch.

The state does not grow: what comes with a batch goes with the next (``support/endurance.py``). So whatever grows is a
leak, but for one thing: which batches were applied is known for ever, in a few bytes each.
"""

import shutil
from typing import Any

import pytest
from support.endurance import figures, in_a_process_of_its_own
from support.reports import report

Figures = dict[str, Any]
BATCH_BYTES = 400  # of a batch that is no longer kept, in the catalogue


def ratio(early: Figures, late: Figures, what: str) -> float:
    return float(late[what] / early[what])


def check_structure(early: Figures, late: Figures, batches: int) -> None:
    """Files, descriptors and the catalogue, exactly where they can be: merges come and go in waves."""
    assert late["descriptors"] == early["descriptors"]
    assert late["rows of versions"] == early["rows of versions"]
    assert late["rows of batches"] - early["rows of batches"] == batches
    assert late["live segments"] <= early["live segments"] + 8 * 16
    for what in ("files", "bytes", "rows of segments", "rows of segment_indexes"):
        assert ratio(early, late, what) < 1.1, what
    assert late["catalogue"] < 1.1 * early["catalogue"] + batches * BATCH_BYTES


def test_a_state_of_the_same_size_stays_of_the_same_size():
    """The fast one: few batches, of which few are kept."""
    found = figures("python", [50, 150], retain=25)
    early, late = found["after"].values()
    assert found["right"]
    assert early["rows of versions"] == 26 and early["rows of batches"] > 0
    check_structure(early, late, 100)


@pytest.mark.long
def test_ten_thousand_batches():
    marks = [1000, 2000, 9000, 10_000]
    found = in_a_process_of_its_own("python", marks)
    report("endurance", **found)
    after = {mark: found["after"][str(mark)] for mark in marks}
    early, late = after[2000], after[10_000]
    assert found["right"]
    check_structure(early, late, 8000)
    for what in ("memory", "own memory"):
        assert ratio(early, late, what) <= 1.02, what
    assert late["mappings"] <= early["mappings"] * 1.1
    # Of the process, because what else runs on the machine is in the others; both are reported.
    before, then = (f["milliseconds of the process"]["p99"] for f in (early, late))
    assert then <= 1.5 * before


@pytest.mark.long
def test_five_hundred_batches_on_spark():
    marks = [100, 200, 300, 400, 500]
    found = in_a_process_of_its_own("spark", marks)
    report("endurance_spark", **found)
    early, late = found["after"]["200"], found["after"]["500"]
    assert found["right"]
    assert late["plan (characters)"] == early["plan (characters)"]
    assert (late["temporary views"], late["persistent"]) == (0, 0)
    for what in ("own memory", *(("heap", "classes", "threads") if shutil.which("jcmd") else ())):
        assert ratio(early, late, what) <= 1.1, what
    before, then = (f["milliseconds"]["median"] for f in (early, late))
    assert then <= 1.5 * before
