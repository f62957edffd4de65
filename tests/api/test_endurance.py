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
PROCESS = ("memory", "own memory", "descriptors", "files", "bytes", "catalogue")  # in bytes, or how many
SPARK = (*PROCESS, "heap", "classes", "threads", "plan (characters)")
BATCH_BYTES = 400  # of a batch that is no longer kept, in the catalogue


def ratio(early: Figures, late: Figures, what: str) -> float:
    return float(late[what] / early[what])


def told(found: Figures, early: Figures, late: Figures, kinds: tuple[str, ...]) -> Figures:
    """Of all that was measured, what a report says: what some figures were, and became."""
    what = {kind: f"{early[kind]:,} → {late[kind]:,}" for kind in kinds if kind in early}
    spreads = ((name, early[name], late[name]) for name in ("milliseconds", "milliseconds of the process"))
    times = {f"{kind} {name}": f"{a[kind]} → {b[kind]}" for name, a, b in spreads for kind in ("median", "p99")}
    return {**what, **times, **{kind: found[kind] for kind in ("seconds", "seconds to open it again", "load")}}


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
    found = figures("local", [40, 100], retain=20)
    early, late = found["after"].values()
    assert found["right"]
    assert early["rows of versions"] == 21 and early["rows of batches"] > 0
    check_structure(early, late, 60)


@pytest.mark.long
def test_ten_thousand_batches():
    marks = [1000, 2000, 9000, 10_000]
    found = in_a_process_of_its_own("local", marks)
    early, late = (found["after"][str(mark)] for mark in (2000, 10_000))
    what = "10,000 batches in process, after 2,000 and at the end"
    report("endurance", what=what, **told(found, early, late, PROCESS))
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
    early, late = found["after"]["200"], found["after"]["500"]
    report("endurance-spark", what="500 batches on Spark, after 200 and at the end", **told(found, early, late, SPARK))
    assert found["right"]
    assert late["plan (characters)"] == early["plan (characters)"]
    assert (late["temporary views"], late["persistent"]) == (0, 0)
    for what in ("own memory", *(("heap", "classes", "threads") if shutil.which("jcmd") else ())):
        assert ratio(early, late, what) <= 1.1, what
    before, then = (f["milliseconds"]["median"] for f in (early, late))
    assert then <= 1.5 * before
