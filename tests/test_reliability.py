"""RELIABILITY.md says what is true: every promise has tests, each of them exists, and the figures are those of the last
long runs (``tests/reports``). ``pytest --golden-update tests/test_reliability.py`` writes the figures anew."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "RELIABILITY.md"
REPORTS = ROOT / "tests" / "reports"
PROMISES = [f"P{i}" for i in range(1, 13)]
BEGIN, END = "<!-- figures: written by the test of this file -->", "<!-- end of figures -->"


def figures() -> str:
    """One line for each report: what was done, what was counted, how long it took, when, and its seed."""
    lines = ["| run | what was done | counted | seconds | date | seed |", "| --- | --- | --- | --- | --- | --- |"]
    for path in sorted(REPORTS.glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        own = {k: report.pop(k, "") for k in ("what", "seconds", "date", "seed")}
        counted = ", ".join(f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}" for k, v in report.items())
        lines.append(f"| {path.stem} | {own['what']} | {counted} | {own['seconds']} | {own['date']} | {own['seed']} |")
    return "\n".join(lines)


def sections(text: str) -> dict[str, str]:
    """The text below each heading that begins with a promise."""
    parts = re.split(r"^### (P\d+)\b", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_promise_has_tests_that_exist() -> None:
    found = sections(FILE.read_text(encoding="utf-8"))
    assert list(found) == PROMISES
    for promise, text in found.items():
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
        assert named, promise
        for file, test in named:
            source = (ROOT / file).read_text(encoding="utf-8")
            assert not test or re.search(rf"^def {test}\(", source, re.MULTILINE), f"{promise}: {file} has no {test}"


def test_every_report_is_named_by_a_promise_and_every_name_is_a_report() -> None:
    told = set(re.findall(r"\*([\w-]+)\*", FILE.read_text(encoding="utf-8")))
    assert {path.stem for path in REPORTS.glob("*.json")} == told - {"long"}


def test_the_figures_are_those_of_the_last_runs(golden_update: bool) -> None:
    text = FILE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n{figures()}\n{END}{after}"
    if golden_update:
        FILE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        pytest.fail("other figures than tests/reports: pytest --golden-update tests/test_reliability.py")
