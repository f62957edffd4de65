"""R32: errors and logs show names and types, never values; and nothing that a user named or wrote commands a terminal.

Names can hold anything. Every part of a message is one line, on which what does not print is escaped.
"""

import json
import logging
import re
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.logger import PySparkLogger
from support.shop import ANN, Customer, Movie, Order, customer, item, movie, opened, order
from typer.testing import CliRunner

import ripplenest as rn
from ripplenest import Bag, RipplenestError, errors
from ripplenest.cli import app
from ripplenest.data.texts import from_text
from ripplenest.nrc.printing.text import quoted, quoted_name
from ripplenest.nrc.serial import read_constant
from ripplenest.nrc.types import STRING, Base, Record
from ripplenest.nrc.types import Bag as BagType
from ripplenest.spark import joiner
from ripplenest.spark.joiner import QUERY_LOG, condition

ROOT = Path(__file__).resolve().parents[2]
H = "\x1b[2J\x9b31m\r\n  wanted   nothing\u202e\u2028\x07\x7f\ud800<script>"
NAME = H.replace("\ud800", "")  # what can be the name of something
SECRET = "-".join(("4111", "1111", "confidential"))


def printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


# ---------------------------------------------------------------- names


def test_each_part_is_one_line() -> None:
    """R32: whatever a part of a message says, it cannot look like another part, nor end before its time."""
    error = RipplenestError(H, where=H, wanted=H, got=H, possible=[H, "x"])
    error.excerpt = ("    a\tb\x1b", f"    ^{H}")
    lines = str(error).split("\n")
    assert [line[:11] for line in lines[3:]] == ["  wanted   ", "  got      ", "  possible "]
    assert len(lines) == 6 and all(line.replace("\t", " ").isprintable() for line in lines)
    assert "\\u001b[2J" in lines[0] and "\\u000a" in lines[0] and "\\ud800" in lines[0]
    str(error).encode()


def test_names_in_errors(folder: Path) -> None:
    """R32: of relations, views, sources, labels and fields, in every error that shows them."""
    with opened(folder / "state") as db:
        db.relation(NAME, Customer, key="custkey")
        db.load("C", [ANN])
        db.load(NAME, [ANN])
        source = f"a{NAME}"
        for seq in (1, 2):
            with db.batch(source, seq) as b:
                b.insert(NAME, [customer(seq)])

        def batch(use: Callable[[Any], object], *names: Any) -> Callable[[], None]:
            def run() -> None:
                with db.batch(*names) as b:
                    use(b)

            return run

        text = f"relation {quoted_name(NAME)} : Bag(⟨a: string⟩)\n"
        tries: list[Callable[[], object]] = [
            *(lambda: db.view(H), lambda: db.load(H, []), lambda: db.load(NAME, [ANN, ANN])),
            lambda: db.relation(H, Movie),
            *(lambda: db.relation(NAME, Order), lambda: db.relation("K", Movie, key=H), lambda: db.batch(H, 1)),
            *(lambda: db.batch(f"load:{H}", 1), lambda: db.batch(policy=H)),  # type: ignore[arg-type]
            *(batch(lambda _: None, source, 9), batch(lambda b: b.insert("M", []), source, 1)),
            batch(lambda b: b.insert(H, [])),
            batch(lambda b: b.insert("C", [{**ANN, H: 1}])),
            batch(lambda b: b.insert("M", pa.table({"name": ["x"], NAME: ["x"]}))),
            batch(lambda b: b.delete(NAME, [customer(50)])),
            batch(lambda b: b.insert(NAME, [customer(1)])),
            batch(lambda b: b.at(NAME, custkey=99).orders.insert([])),
            batch(lambda b: b.at(NAME, **{H: 1})),
            batch(lambda b: b.at(NAME, label=NAME).orders.insert([order(1)])),
            batch(lambda b: b.at("C", custkey=7)[H]),
            batch(lambda b: b.at("C", custkey=7).orders.at(**{H: 1})),
            *(lambda: rn.parse(f"{text}{text}"), lambda: rn.parse(f"{text}view v = {quoted_name(NAME + 'x')}")),
            lambda: rn.parse(f"{text}view v = [x.{quoted_name(NAME + 'x')} | x in {quoted_name(NAME)}]"),
            lambda: rn.parse(f"{text}view v = [x.a + 1 | x in {quoted_name(NAME)}]\t{H}"),
            *(lambda: rn.parse(H), lambda: rn.parse("view v = 1", H), lambda: rn.parse(text).view(H)),
            *(lambda: rn.parse(text).relation(H), lambda: rn.record(type(NAME.replace("\0", ""), (), {})),),
            lambda: rn.record(type("R", (), {"__annotations__": {H: int}})),
        ]  # fmt: skip
        named = 0
        for n, run in enumerate(tries):
            with pytest.raises(RipplenestError) as caught:
                run()
            shown = str(caught.value)
            assert printable(shown.replace("\t", " ")), (n, shown)
            named += "<script>" in shown
            parts = [
                part for part in (caught.value.wanted, caught.value.got, caught.value.possible) if part is not None
            ]
            assert shown.count("\n") == len(parts) + len(caught.value.excerpt) + bool(caught.value.key), (n, shown)
        assert named > 20, named


def test_names_in_what_is_printed(folder: Path) -> None:
    """R32: reports, verifications and explanations in all their forms."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation(NAME, Customer, key="custkey")
        items = "Bag(⟨part: long, qty: long, tags: Bag(string)⟩)"
        fields = f"custkey: long, name: string?, orders: Bag(⟨orderkey: long, items: {items}⟩)?"
        text = (
            f"relation {quoted_name(NAME)} : Bag(⟨{fields}⟩)\nview {quoted_name(NAME + 'v')} = "
            f"[{{{quoted_name(NAME)}: {quoted(NAME)}, b: [o.orderkey | o in x.orders]}} | x in {quoted_name(NAME)}]"
        )
        db.create(rn.parse(text).views[0])
        with db.batch(NAME, 1) as b:
            b.insert(NAME, [ANN])
        with db.batch(NAME, 1) as again:
            again.insert(NAME, [ANN])
        explanation = db.view(f"{NAME}v").explain()
        page = explanation._repr_html_()
        texts = [str(b.report), str(again.report), str(db.verify()), str(explanation), explanation.mermaid()]
        texts += [explanation.graphviz(), page]
        assert all(printable(text) and "script" in text for text in texts)
        assert str(b.report).count("\n") == 5 and str(again.report).count("\n") == 0
        assert tags_of(page) <= {"div", "pre", "span", "details", "summary"}


def tags_of(page: str) -> set[str]:
    found: set[str] = set()

    class Page(HTMLParser):
        def handle_starttag(self, tag: str, _: Any) -> None:
            found.add(tag)

    Page().feed(page)
    return found


def test_names_and_values_on_the_command_line(folder: Path, spark: Any) -> None:
    """R32: a terminal gets text. In JSON, what does not print is escaped too: C1 codes and marks of direction are no
    control characters to JSON, but to a terminal they are."""
    file, state = folder / "views.nrc", folder / "state"
    file.write_text(
        f"relation {quoted_name(NAME)} : Bag(⟨k: string⟩)\n"
        f"view {quoted_name(NAME + 'v')} = "
        f"[{{{quoted_name(NAME)}: x.k, c: {quoted(NAME)}}} | x in {quoted_name(NAME)}]\n"
    )
    wrong = folder / "wrong.nrc"
    wrong.write_text(f"relation {quoted_name(NAME)} : Bag(⟨k: string⟩)\nview {quoted_name(NAME)} = 1\n")
    with rn.open(state, spark=spark, engine="local") as db:
        db.relation(NAME, rn.record(type("Row", (), {"__annotations__": {"k": str}})))
        db.load(NAME, [{"k": NAME}])
        db.create(rn.read(file).views[0])
        plan = db.view(f"{NAME}v").explain().spark_plan(spark)
        assert printable(plan) and "\\u001b[2J" in plan
    said = {
        args: CliRunner().invoke(app, [str(a) for a in args])
        for args in [
            *(("check", file), ("check", file, "--json"), ("check", wrong), ("check", wrong, "--json")),
            *(("check", f"{file}:no"), ("explain", file), ("explain", file, "--html"), ("explain", file, "--json")),
            *(("explain", file, "--mermaid"), ("explain", file, "--graphviz"), ("explain", wrong)),
            *(("show", state, f"{NAME}v"), ("show", state, f"{NAME}v", "--json"), ("show", state, NAME)),
            *(("verify", state), ("verify", state, "--json"), ("changes", state, f"{NAME}v", "--since", 0)),
        ]
    }
    for args, done in said.items():
        assert printable(done.stdout + done.stderr), args
        assert "<script>" in done.stdout + done.stderr or ("script" in done.stdout and "--" in str(args[-1])), args
        assert done.exit_code in (0, 1, 2), args
        if args[-1] == "--json" and done.exit_code == 0:
            json.loads(done.stdout)
    rows = json.loads(said["show", state, f"{NAME}v"].stdout)
    assert rows == {NAME: NAME, "c": NAME}
    assert tags_of(said["explain", file, "--html"].stdout) <= {
        *("html", "head", "meta", "title", "body", "div", "pre", "span", "details", "summary")
    }


# ---------------------------------------------------------------- values


@rn.view
def days(M: Bag[Movie]):
    return [{"n": m.name, "d": m.gen} for m in M if m.dir == "x"]


TO_DATE = rn.parse(
    "relation M : Bag(⟨name: string, gen: string?, dir: string?⟩)\nview v = [{d: to_date(m.name)} | m in M]\n"
    "view minus = ⊖M"
)
T = BagType(Record((("a", STRING), ("d", Base("date")))))


def hides(error: BaseException) -> bool:
    """Whether a program that prints the error with all that it was caused by shows nothing of the value."""
    said = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    return SECRET not in said and SECRET[:6] not in said.replace(SECRET[:4] + '"', "")


def test_values_are_in_no_error(folder: Path) -> None:
    """R32: not in the message, nor in those that a traceback prints above it, whatever was wrong with the value."""
    with opened(folder / "state") as db:
        db.relation("K", Movie, key="name")
        db.load("K", [movie(SECRET)])
        db.load("C", [customer(7, SECRET, [order(11, item(1, 2, (SECRET,)))]), customer(8, SECRET)])

        def batch(use: Callable[[Any], object]) -> Callable[[], None]:
            def run() -> None:
                with db.batch() as b:
                    use(b)

            return run

        def view(name: str) -> Callable[[], object]:
            def run() -> object:
                db.create(TO_DATE.view(name))
                with db.batch() as b:
                    b.insert("M", [movie(SECRET)])
                return db.view(name).rows()

            return run

        number = Decimal("411111.123456")
        tries: list[Callable[[], object]] = [
            *(
                batch(lambda b, x=x: b.insert("C", [customer(x)]))
                for x in (SECRET, SECRET.encode(), [SECRET], {SECRET: 1})
            ),
            batch(lambda b: b.insert("C", [customer(1, f"{SECRET}\ud800")])),
            batch(lambda b: b.insert("C", [customer(1, "x", [SECRET])])),  # type: ignore[list-item]
            batch(lambda b: b.insert("C", SECRET)),
            batch(lambda b: b.insert("M", pa.table({"name": pa.array([SECRET.encode()]), "gen": [1], "dir": [1]}))),
            batch(lambda b: b.insert("C", pa.table({"custkey": [SECRET], "name": [SECRET], "orders": [[SECRET]]}))),
            batch(lambda b: b.delete("M", [movie(SECRET)])),
            batch(lambda b: b.delete("C", [customer(7, SECRET, [order(11, item(1, 2, (f"{SECRET}!",)))])])),
            batch(lambda b: b.insert("K", [movie(SECRET)])),
            batch(lambda b: b.upsert("K", [movie(SECRET)] * 2)),
            batch(lambda b: b.at("C", name=f"{SECRET}?").orders.insert([])),
            batch(lambda b: b.at("C", name=SECRET).orders.insert([])),
            batch(lambda b: b.at("C", custkey=SECRET)),
            batch(lambda b: b.at("C", custkey=7).orders.at(orderkey=SECRET)),
            batch(lambda b: b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.delete([f"{SECRET}."])),
            *(lambda: db.load("M", [movie(SECRET), {"name": SECRET}]), lambda: db.load("K", [movie(SECRET + "x")])),
            *(view("v"), lambda: days([{"name": SECRET}]), lambda: days([movie(1, SECRET)])),  # type: ignore[arg-type]
            lambda: from_text(f'[[["{SECRET}", "{SECRET}"], 1]]', T),
            lambda: from_text(SECRET, T),
            lambda: from_text(f'[[["{SECRET}"], "{SECRET}"]]', T),
            batch(lambda b: b.insert("C", [customer(1, number)])),  # type: ignore[arg-type]
        ]
        for n, run in enumerate(tries):
            with pytest.raises(RipplenestError) as caught:
                run()
            assert hides(caught.value), (n, str(caught.value))
        for kind in ("date", "timestamp", "double", "decimal", "binary"):
            with pytest.raises(ValueError) as bad:
                read_constant(SECRET, Base(kind))  # type: ignore[arg-type]
            assert hides(bad.value), kind
    with opened(folder / "other") as db:
        db.load("M", [movie(SECRET)])
        db.create(TO_DATE.view("minus"))
        with pytest.raises(errors.EvaluationError, match="less than 0 times") as caught:
            db.view("minus").rows()
        assert hides(caught.value)


def test_values_are_in_no_log(
    folder: Path, spark: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R32: an error that Spark meets in a row is one of ours, without Spark's own, which quotes the row; pyspark logs
    nothing of it. What the JVM logs is tried by a process of its own in ``test_private.py``."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    log = PySparkLogger.getLogger(QUERY_LOG)
    met: list[str] = []
    monkeypatch.setattr(joiner, "condition", lambda error: met.append(condition(error)) or condition(error))
    secret = "2023-02-" + "29"  # looks like a date, so that it reaches Spark's own cast
    with opened(folder / "state", engine="spark", spark=spark) as db:
        db.load("M", [movie(secret)])
        log.addHandler(handler)
        try:
            with pytest.raises(errors.EvaluationError, match="a cast that fails") as caught:
                db.create(TO_DATE.view("v"))
        finally:
            log.removeHandler(handler)
    assert met == ["CAST_INVALID_INPUT"]
    assert secret not in "".join(traceback.format_exception(caught.value))
    assert not records and not log.disabled
    said = capfd.readouterr()
    assert secret not in said.err + said.out


def test_the_jvm_logs_no_rows_and_no_control_characters() -> None:
    """R32: what tasks log of their failures is off, and every message loses what a terminal would obey."""
    settings = (ROOT / "ripplenest" / "spark" / "log4j2.properties").read_text()
    found = dict(re.findall(r"^([\w.]+) = (.*)$", settings, re.MULTILINE))
    off = {found[f"logger.{name}.name"] for name in ("executor", "tasks") if found[f"logger.{name}.level"] == "off"}
    assert off == {"org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager"}
    pattern = found["appender.stderr.layout.pattern"]
    (left_out,) = re.findall(r"%replace\{%m%n%ex\}\{(.*)\}\{\?\}$", pattern)
    cut = re.compile(left_out.replace("\\\\", "\\"))
    assert cut.sub("?", "a\tb\n\x1b[2J\x9b\x00\x7f") == "a\tb\n?[2J???"


def test_times_in_messages_are_not_values() -> None:
    """R32: a type says what came, and nothing of what it holds."""
    with pytest.raises(errors.WrongValue) as caught:
        days([{"name": datetime(1999, 1, 2, tzinfo=UTC), "gen": None, "dir": None}])
    assert "1999" not in str(caught.value) and "datetime" in str(caught.value)
