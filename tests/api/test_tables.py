"""What answers look like: reports, the history, usage and verifications as text, in a terminal and in a notebook."""

import io
import re
from html.parser import HTMLParser

import pytest
from cli.conftest import HOSTILE, big, build, order
from rich.cells import cell_len
from rich.console import Console

import ripplenest as rn
from ripplenest.data.sheet import Sheet, Tabular

COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


class Cells(HTMLParser):
    """The texts of an HTML answer, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def terminal(of: Tabular, width: int = 200, colours: bool = False) -> str:
    out = io.StringIO()
    of.print(Console(file=out, width=width, force_terminal=colours, color_system="standard" if colours else None))
    return out.getvalue()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tabular]:
    folder = tmp_path_factory.mktemp("tables") / "state"
    build(folder)
    with rn.open(folder, engine="local") as db:
        with db.batch(HOSTILE, 8, policy="full") as b:
            b.insert("Orders", [order(11)])
        with db.batch(HOSTILE, 8) as again:
            b = b.report
            again.insert("Orders", [order(11)])
        return {
            "report": b, "again": again.report, "history": db.history(), "usage": db.usage, "verify": db.verify(),
        }  # fmt: skip


NAMES = ("report", "again", "history", "usage", "verify")


@pytest.mark.parametrize("name", NAMES)
def test_all_forms_say_the_same(answers: dict[str, Tabular], name: str) -> None:
    """Every cell of the sheet is in the plain text, in a terminal and in HTML; no form has anything that commands."""
    found = answers[name]
    sheet = found.sheet()
    shown = Cells(found._repr_html_())
    assert shown.tags <= {"div", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    for text in (str(found), terminal(found), "\n".join(shown.texts)):
        assert not COMMANDS.search(text)
        for cell in (c for row in sheet.rows for c in row):
            assert printed(cell) in text
        for line in (*sheet.above, *sheet.below):
            assert printed(line) in text
    assert "\x1b[" in terminal(found, colours=True) or not sheet.rows


def printed(cell: str) -> str:
    return cell.replace("\x1b", "\\u001b").replace("\n", "\\u000a").replace("\u202e", "\\u202e")


def test_the_text_is_stable(answers: dict[str, Tabular], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the width of a terminal nor its colours matter to ``str``."""
    before = {name: str(found) for name, found in answers.items()}
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert {name: str(found) for name, found in answers.items()} == before
    assert all("\x1b" not in text and not re.search(r" $", text, re.MULTILINE) for text in before.values())


def test_texts(answers: dict[str, Tabular]) -> None:
    history = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-01 00:00:00", str(answers["history"]))
    assert history.splitlines()[:4] == [
        "version  time (UTC)           rows in  rows out  what",
        "     10  2026-01-01 00:00:00        3         4  batch ware\\u001b[31m\\u000a\\u202ehouse:8, recomputed",
        "      9  2026-01-01 00:00:00                     rollback to 7",
        "      8  2026-01-01 00:00:00        3         4  batch ware\\u001b[31m\\u000a\\u202ehouse:7, recomputed",
    ]
    assert str(answers["verify"]).splitlines()[0].split() == ["table", "rows", "of"]
    assert str(answers["verify"]).splitlines()[-1] == "version 10: nothing differs"
    assert [line.split()[0] for line in str(answers["usage"]).splitlines()] == [
        "what", "oldest", "newest", "retain", "files", "bytes", "segments", "orphans",
    ]  # fmt: skip
    assert str(answers["again"]) == str(answers["report"]).partition(",")[0] + " was applied before, nothing changed"


def test_the_history_is_a_list(answers: dict[str, Tabular]) -> None:
    history = answers["history"]
    assert isinstance(history, list) and [e.version for e in history] == [*range(10, -1, -1)]
    assert history[:2] == [history[0], history[1]] and history[0].what.startswith("batch ware")


def test_columns_fit_wide_characters_and_each_other() -> None:
    sheet = Sheet(("名前", "n"), (("日本", "1"), ("a", "1,000"), ("<b>&", "")), right=(1,))
    lines = sheet.text().splitlines()
    assert lines == ["名前      n", "日本      1", "a     1,000", "<b>&"]
    assert {cell_len(line) for line in lines[:3]} == {11}
    assert "&lt;b&gt;&amp;" in sheet.html() and "<b>" not in sheet.html()
    assert Sheet(("a",), (), above=("x\ny",)).text() == "x\\u000ay"


def test_narrow_terminals_lose_nothing() -> None:
    class Long(Tabular):
        def sheet(self) -> Sheet:
            return Sheet(("number", "text"), (("1", "word" * 30), ("2", "[red]x")), right=(0,))

    shown = terminal(Long(), width=30)
    assert max(map(len, shown.splitlines())) <= 30 and "[red]x" in shown
    assert shown.replace("\n", "").replace(" ", "").count("word") == 30


def test_an_explanation_is_its_text() -> None:
    found = rn.explain(big)
    assert str(found) == found.text and "1. Query" in str(found) and repr(found).startswith(found.summary)
    assert found._repr_html_().startswith("<div>")
