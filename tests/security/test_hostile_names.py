"""R28, R30: sixty hostile texts as the names of relations, fields, views and sources, and as values and constants.

Each comes back as it was, through the Python engine and through Spark, or is refused where it is declared. None of them
reaches what Spark parses, and none is in the name of a file.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import py4j.java_gateway
import pytest
from support.states import refused, state

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.nrc.printing.text import quoted, quoted_name
from ripplenest.nrc.surface.text import TextView
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Record

HOSTILE = (
    *("'", '"', "`", "``", "'; DROP TABLE version; --", '"; DROP TABLE segments; --', "' OR '1'='1"),
    *("a`; SELECT 1; --", "/* x */", "-- x", "#", "\\", "\\'", "\\u0041", "\\N{DIGIT ONE}", "${spark.master}"),
    *("${env:HOME}", "{}", "{0}", "{name!r}", "%s", "%(name)s", "%n%n", "{{x}}", "$(id)", "`id`", "|id", "a\nb"),
    *(
        "a\r\n  wanted ok",
        "\t",
        "\x1b[2J",
        "\x9b31m",
        "\x7f",
        "\0",
        "a\0b",
        "\u202eabc",
        "\u200b",
        "a\u200bb",
        "\ufeff",
    ),
    *("\u2028", "\U0001f600", "e\u0301", "\u00e9", "\uffff", "\U000e0001", " ", " a ", "a.b", ".", "..", "*", "a.*"),
    *("a[0]", "../../x", "/etc/passwd", "C:\\x", "CON", "nul.txt", "~", "-rf", "select", "SELECT", "table", "null"),
    *(
        "NULL",
        "true",
        "c0",
        "w",
        "t0",
        "s0.c1",
        "k0_0",
        "tag",
        "_multiplicity",
        "label",
        "row",
        "value",
        "site",
        "unit",
    ),
    *("__class__", "__import__('os')", "<script>", "&lt;", "x" * 500),
)
WORDS = {name for name in HOSTILE if name.isidentifier() and name != "e\u0301"}  # which is two texts to Python
OURS = re.compile(r"[a-z0-9_]{1,12}(\.[a-z0-9_]{1,12})?|\*", re.ASCII)


@rn.record
class Row:
    k: str
    tags: Bag[str]


def made(view: str, relation: str, fields: tuple[str, ...], literal: str) -> TextView:
    """A view with the key, a bag of the tags that are the literal, and the literal in all other fields."""
    f, constant = [quoted_name(name) for name in fields], quoted(literal)
    rest = "".join(f", {name}: {constant}" for name in f[2:])
    text = (
        f"relation {quoted_name(relation)} : Bag(⟨k: string, tags: Bag(string)⟩)\n"
        f"view {quoted_name(view)} = [{{{f[0]}: x.k, {f[1]}: [t | t in x.tags, t = {constant}]{rest}}} "
        f"| x in {quoted_name(relation)}]"
    )
    return rn.parse(text).views[0]


def test_there_are_sixty() -> None:
    """R28: different texts, of which no two differ in a way that a collation or a file system overlooks only."""
    assert len(HOSTILE) == len(set(HOSTILE)) >= 60


STATES = 6  # a state of all of them reads all of its declarations in each call


@pytest.mark.parametrize("first", range(STATES))
def test_names_and_values_come_back(folder: Path, tmp_path: Path, first: int) -> None:
    """R28, R30: every text as a relation, a view, a field of it, a source, a value and a constant, before and after the
    state is opened again. All files are called as if there were other names, and none is anywhere else."""
    around, names = set(folder.iterdir()), HOSTILE[first::STATES]
    with rn.open(folder / "state", engine="local") as db:
        for name in names:
            db.relation(name, Row, key="k")
            db.create(made(f"{name}!", name, (name, f"{name}2", f"{name}3"), name))
            batch_of(db, name)
        before = state(db)
    with rn.open(folder / "state", engine="local") as db:
        assert state(db) == before
        assert db.relations == tuple(sorted(names)) and db.views == tuple(sorted(f"{name}!" for name in names))
        for name in names:
            assert db.view(f"{name}!").rows() == [{name: name, f"{name}2": [name, name], f"{name}3": name}]
        assert not batch_of(db, names[0]).applied
    files = [Path(at, file) for at, folders, found in os.walk(folder) for file in (*folders, *found)]
    assert len(files) > len(names)
    assert set(folder.iterdir()) - around == {folder / "state"} and not list(tmp_path.iterdir())
    for file in files:
        assert re.fullmatch(r"[0-9a-z][0-9a-zA-Z.-]*", file.name), file
        assert not file.is_symlink() and folder / "state" in (file, *file.parents)


def batch_of(db: rn.Database, name: str) -> rn.Report:
    with db.batch(source=name, seq=1) as b:
        b.insert(name, [{"k": name, "tags": [name, "other"]}])
        b.at(name, k=name).tags.insert([name, f"{name}x"])
        b.at(name, k=name).tags.delete([f"{name}x"])
    return b.report


def test_names_and_constants_in_the_text_language() -> None:
    """R28: quoted as the language quotes them, every text is one name and one constant, and nothing else."""
    for name in HOSTILE:
        text = (
            f"relation {quoted_name(name)} : Bag(⟨k: string, {quoted_name(name + '2')}: string⟩)\n"
            f"view {quoted_name(name + '!')} = [{{{quoted_name(name)}: {quoted(name)}}} | x in {quoted_name(name)}, "
            f"x.k = {quoted(name)}, x.{quoted_name(name + '2')} != {quoted(name)}]"
        )
        (relation,), (view,) = (program := rn.parse(text)).relations, program.views
        assert (relation.name, view.name) == (name, f"{name}!")
        assert isinstance(view.row, Record) and view.row.names == (name,)
        constants = [c.value for c in _literals(view.query.body)]
        assert constants.count(name) == 3 == len(constants)


def _literals(term: Any) -> Iterator[Lit]:
    if isinstance(term, Lit):
        yield term
    elif attrs.has(type(term)):
        yield from (c for f in attrs.fields(type(term)) for c in _literals(getattr(term, f.name)))
    elif isinstance(term, tuple):
        yield from (c for part in term for c in _literals(part))


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_fields_of_relations(name: str) -> None:
    """R28, R29: a class has code that is made of the names of its fields. What is no plain word is refused before, in
    Python and in the text language; a word is a field like any other."""
    declared = rn.parse(f"relation R : Bag(⟨k: long, {quoted_name(name)}: string⟩)").relation("R")
    if name in WORDS and not name.startswith("_"):
        row = declared.annotation
        assert [f.name for f in attrs.fields(row)] == ["k", name]
        assert row(1, "x") == row(1, "x") != row(1, "y") and getattr(row(1, "x"), name) == "x"
        return
    with pytest.raises(errors.Unsupported, match="no class can have these fields") as caught:
        _ = declared.annotation
    assert all(line.isprintable() for line in str(caught.value).split("\n"))
    assert refuses(name) == (name not in WORDS)


def refuses(name: str) -> bool:
    """Whether ``@record`` does, in a message that prints."""
    made = type("Made", (), {"__annotations__": {"k": int, name: str}})
    try:
        rn.record(made)
    except errors.Unsupported as error:
        assert "no class can have this field" in str(error)
        assert all(line.isprintable() for line in str(error).split("\n"))
        return True
    return False


@pytest.mark.parametrize("name", ["x: pass\nimport os\nclass y", "a b", "\x1b[2J", "None", "", "e\u0301"])
def test_classes_that_would_be_code(name: str) -> None:
    """R29: attrs wrote the name of the class into its code until version 25."""
    with pytest.raises(errors.Unsupported, match="no class of rows can have this name"):
        rn.record(type(name, (), {"__annotations__": {"k": int}}))


INJECTED = (
    *("x=print(1)", "x, y", "x): pass\ndef f(self", "x: __import__('os').system('id')", "self", "class", "None", "1x"),
    *("", "x=print(1) if 0 else 2"),
)


@pytest.mark.parametrize("name", INJECTED)
def test_fields_that_would_be_code(name: str) -> None:
    """R29: the parameters of ``__init__`` are the names of fields."""
    assert refuses(name)
    with pytest.raises(errors.QueryError):
        _ = rn.parse(f"relation R : Bag(⟨{quoted_name(name)}: string⟩)").relation("R").annotation


def test_names_of_files_are_no_names_of_classes() -> None:
    """R28: a relation may be called what no class can be called."""
    for name in HOSTILE:
        assert rn.parse(f"relation {quoted_name(name)} : Bag(⟨k: long⟩)").relation(name).annotation


# ---------------------------------------------------------------- Spark

# What the JVM gets text by, and does not parse it: names that columns get, constants, types as JSON.
UNPARSED = {"as", "alias", "lit", "parseDataType", "name", "typedLit"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(method, text) of every call of the JVM with a text."""
    found: list[tuple[str, str]] = []
    plain = py4j.java_gateway.JavaMember.__call__

    def call(self: Any, *args: Any) -> Any:
        found.extend((self.name, a) for a in args if isinstance(a, str))
        return plain(self, *args)

    monkeypatch.setattr(py4j.java_gateway.JavaMember, "__call__", call)
    return found


def test_names_and_values_come_back_from_spark(folder: Path, spark: Any, said: list[tuple[str, str]]) -> None:
    """R28: a view of sixty hostile fields and constants over rows of sixty hostile values, kept and nested by Spark.
    Only what Spark does not parse is ever called with one of them; every other name is one of ours."""
    relation, view = "'; DROP TABLE version; --", "a`; SELECT 1; --"
    rows = [{"k": name, "tags": [name, "{}", name]} for name in HOSTILE]
    with rn.open(folder / "state", spark=spark, engine="spark") as db:
        db.relation(relation, Row, key="k")
        db.create(made(view, relation, HOSTILE, "{}"))
        with db.batch(source="`", seq=1) as b:
            b.insert(relation, rows)
        assert b.report.jobs == 1
        kept = db.view(view).rows()
        nested = db.view(view).nested().toArrow()
        parts = {view: db.view(view).flat(), **db.view(view).dictionaries()}
        assert [part.columns[:2] for part in parts.values()] == [[*HOSTILE[:2]], ["label", "value"]]
    assert nested.column_names == list(HOSTILE) == list(kept[0])
    assert sorted(nested.column(0).to_pylist()) == sorted(HOSTILE) == sorted(row[HOSTILE[0]] for row in kept)
    for i, name in enumerate(HOSTILE[1:], 1):
        assert set(map(str, nested.column(i).to_pylist())) == {str(row[name]) for row in kept}
    hostile = set(HOSTILE) - {*WORDS, "s0.c1", "k0_0", "*"}
    passed = {method for method, text in said if any(name in text for name in hostile if len(name) > 2)}
    assert {"as", "lit"} <= passed <= UNPARSED, passed
    names = [text for method, text in said if method in ("col", "column")]
    assert len(names) > 50 and not [text for text in names if not OURS.fullmatch(text)]
    assert not {method for method, _ in said} & {"expr", "sql", "selectExpr", "filter", "where", "table"}


def test_a_source_that_is_reserved(folder: Path) -> None:
    """R28: the source of a load is the database's own, whatever the relation is called."""
    with rn.open(folder / "state", engine="local") as db:
        for name in HOSTILE[:5]:
            db.relation(name, Row)
            with refused(db, errors.BatchMisuse, "reserved"):
                db.batch(f"load:{name}", 1)
