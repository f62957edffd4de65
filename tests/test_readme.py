"""The README's program runs as it stands, and gives the tables of the paper."""

import re
import runpy
from pathlib import Path

import pytest

import ripplenest as rn

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.usefixtures("spark")
def test_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    program = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with runpy.run_path(str(file))["db"] as db:
        found = {row["name"]: sorted(row["related"]) for row in db.view("related").rows()}
    assert found.pop("Jarhead") == ["Drive", "Skyfall"]
    assert found == {"Drive": ["Jarhead"], "Skyfall": ["Jarhead", "Rush"], "Rush": ["Skyfall"]}
    shown = capsys.readouterr().out
    assert "imdb:17, incremental" in shown
    assert re.search(r"Jarhead *\|\[(Drive, Skyfall|Skyfall, Drive)\]", shown)


def test_the_text_file(tmp_path: Path) -> None:
    """The views of the block are the same, and make rows."""
    file = tmp_path / "films.nrc"
    (text,) = re.findall(r"```\n(relation.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    file.write_text(text, encoding="utf-8")
    program = rn.read(file)
    with rn.open(tmp_path / "state", engine="python") as db:
        for r in program.relations:
            db.relation(r.name, r.annotation, key=r.key)
        db.load("M", [{"name": "Drive", "gen": "Drama", "dir": None}, {"name": "Rush", "gen": None, "dir": None}])
        for view in program.views:
            assert db.create(view).rows() == [{"name": "Drive"}]
