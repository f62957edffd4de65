"""Every example runs, from any folder, and prints what stands in the file beside it."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROGRAMS = sorted(p.stem for p in EXAMPLES.glob("*.py") if "__main__" in p.read_text(encoding="utf-8"))
ON_SPARK, SLOW = {"tables", "jobs"}, {"jobs"}  # a stream takes as long as fifty tests


def run(name: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(elsewhere)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    expected = (EXAMPLES / f"{name}.expected").read_text(encoding="utf-8")
    assert capsys.readouterr().out == expected
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - ON_SPARK))
def test_in_this_process(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(name, tmp_path, monkeypatch, capsys)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in sorted(ON_SPARK)]
)
def test_on_spark(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(name, tmp_path, monkeypatch, capsys)


def test_each_has_its_output() -> None:
    with_output = {p.stem for p in EXAMPLES.glob("*.expected")}
    assert with_output == set(PROGRAMS) >= {"films", "orders", "deep", "tables", "jobs"}
