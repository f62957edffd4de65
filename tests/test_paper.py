"""Every theorem and lemma of the paper that Ripplenest rests on has a test that names it, so that none can vanish; and
so has every section of the one on functional aggregate queries that says what a system does, by the table in
RELIABILITY.md.

The tests are read, not run: a name counts where it stands in the docstring of a test function that ``make test`` runs.
(Theorem 9 is about circuits, and nothing here is.)
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.wide import is_wide

TESTS = Path(__file__).resolve().parent
NAMES = (
    *(f"theorem {n}" for n in (2, 4, 5, 8)),
    *(f"lemma {n}" for n in (1, 3, 6, 7, 10, 11, 12, 13)),
    "proposition 4.1",
)
SECTIONS = (
    "What's this paper about?",
    "Matrix Chain Multiplication",
    "Triangle Counting",
    "Functional Aggregate Queries",
    "How do we go on and solve a FAQ?",
    "Differential Dataflow",
    "Tying things together",
    "Incrementalize it!",
)


def docstrings(source: str) -> Iterator[str]:
    """The docstrings of the test functions in a module, of those that are not ``long``."""
    yield from by_test(source).values()


def by_test(source: str) -> dict[str, str]:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and not _long(node))
    return {node.name: ast.get_docstring(node) or "" for node in found if node.name.startswith("test_")}


def _long(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "pytest.mark.long" for d in function.decorator_list)


def named(name: str, text: str) -> bool:
    """``lemma 1`` is not named by lemma 11, and lemmas may be listed: ``lemmas 11 to 13`` names two, not three."""
    return re.search(rf"\b{re.escape(name)}(?![\d.]\d|\d)", text, re.IGNORECASE) is not None


@pytest.fixture(scope="module")
def texts() -> list[str]:
    found = (path for path in sorted(TESTS.rglob("test_*.py")) if not is_wide(path.relative_to(TESTS).as_posix()))
    return [text for path in found for text in docstrings(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_tested(name: str, texts: list[str]) -> None:
    assert any(named(name, text) for text in texts), f"no test names {name} in its docstring"


@pytest.mark.parametrize(
    ("text", "found"),
    [("Lemma 1: δ", True), ("lemma 11", False), ("lemma 1.5", False), ("By lemma 1.", True), ("dilemma 1", False)],
)
def test_names_are_whole(text: str, found: bool) -> None:
    assert named("lemma 1", text) is found


def test_only_docstrings_of_fast_tests_count() -> None:
    source = "def test_a():\n 'lemma 1'\n@pytest.mark.long\ndef test_b():\n 'lemma 3'\ndef helper():\n 'lemma 6'\n"
    assert list(docstrings(source)) == ["lemma 1"]


def sections(page: str) -> dict[str, list[tuple[str, str]]]:
    """The rows of the table of sections: by section the tests, by file and name."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (`tests/[^|]+) \|$", page, re.MULTILINE)
    return {section: re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests) for section, tests in rows}


def test_every_section_on_functional_aggregate_queries_has_tests_that_name_it() -> None:
    found = sections((TESTS.parent / "RELIABILITY.md").read_text(encoding="utf-8"))
    assert tuple(found) == SECTIONS
    for section, tests in found.items():
        assert tests, section
        for file, test in tests:
            texts = by_test((TESTS.parent / file).read_text(encoding="utf-8"))
            assert f'"{section}"' in " ".join(texts.get(test, "").split()), (file, test, section)
