"""Adding a construct is a forced walk: a pass that has not heard of it is named here (CONTRIBUTING.md has the list).

The passes are read, not run: each must have a ``case`` for every construct of the sorts that it treats. What is made
at random, and the golden blocks, must contain every construct.
"""

import ast
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from attrs import frozen
from support.choices import seeded
from support.examples import QUERIES
from support.queries import grouped_query
from support.strategies import random_case

from ripplenest.delta.rules import delta
from ripplenest.nrc import syntax
from ripplenest.nrc.rewriting.normal import normal, term
from ripplenest.nrc.syntax import DictExpr, Elem, Expr, Term
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import shred

ROOT = Path(__file__).resolve().parent.parent


def names(union: object) -> frozenset[str]:
    return frozenset(c.__name__ for c in get_args(union))


EXPR, DICT, ELEM = names(Expr), names(DictExpr), names(Elem)
SHREDDED = frozenset({"Apply", "InL", "OutL", "IsSite"}) | DICT  # shredding makes them, no surface does


@frozen
class Pass:
    """A function with a ``case`` for each of ``constructs``."""

    name: str
    file: str
    function: str
    constructs: frozenset[str]


PASSES = (
    Pass("typecheck", "nrc/typecheck.py", "elem_type", ELEM),
    Pass("typecheck", "nrc/typecheck.py", "expr_type", EXPR),
    Pass("typecheck", "nrc/typecheck.py", "dict_type", DICT),
    Pass("interpret", "nrc/interpret.py", "elem", ELEM),
    Pass("interpret", "nrc/interpret.py", "_bag", EXPR),
    Pass("interpret", "nrc/interpret.py", "look_up", DICT),
    Pass("walk", "nrc/walk.py", "rebuild_elem", ELEM),
    Pass("walk", "nrc/walk.py", "rebuild", EXPR),
    Pass("walk", "nrc/walk.py", "rebuild_dict", DICT),
    Pass("pretty", "nrc/printing/pretty.py", "_elem", ELEM),
    Pass("pretty", "nrc/printing/pretty.py", "show", EXPR),
    Pass("pretty", "nrc/printing/pretty.py", "show_dict", DICT),
    Pass("shred", "shred/terms.py", "_elem_context", ELEM),
    Pass("shred", "shred/terms.py", "_shred", EXPR),
    Pass("normal form", "nrc/rewriting/normal.py", "_normal", EXPR),
    Pass("normal form", "nrc/rewriting/normal.py", "definitions", DICT),
    Pass("delta", "delta/rules.py", "_delta", EXPR),
    Pass("delta", "delta/rules.py", "_delta_dict", DICT),
    Pass("degree", "delta/degree.py", "_deg", EXPR),
    Pass("degree", "delta/degree.py", "_deg_dict", DICT),
    Pass("cost", "cost/interpret.py", "_elem", ELEM),
    Pass("cost", "cost/interpret.py", "_bag", EXPR),
    Pass("cost", "cost/interpret.py", "_definition", DICT),
    Pass("plan", "ripplenest/plan/lower.py", "_elem", ELEM),
)


@frozen
class Maker:
    """Files one of which must make each of ``constructs``: they mention its class."""

    name: str
    files: tuple[str, ...]
    constructs: frozenset[str]


SOURCE = (EXPR | ELEM) - SHREDDED
MAKERS = (
    # Python has no notation for × and ⊖.
    Maker("DSL", ("nrc/surface/*.py", "nrc/surface/python/*.py"), SOURCE - {"Product", "Neg"}),
    Maker("text language", ("nrc/surface/text/*.py", "nrc/surface/*.py"), EXPR | DICT | ELEM),
    Maker("strategies", ("tests/support/queries.py",), SOURCE),
)


def missing(root: Path) -> Iterator[str]:
    """What a construct has not reached, in the project that stands in ``root``."""
    for p in PASSES:
        for construct in sorted(p.constructs - cases((root / p.file).read_text(encoding="utf-8"), p.function)):
            yield f"construct {construct} is missing in pass {p.name} (file {p.file}, function {p.function})"
    for m in MAKERS:
        sources = [path.read_text(encoding="utf-8") for file in m.files for path in sorted(root.glob(file))]
        for construct in sorted(m.constructs.difference(*map(calls, sources))):
            yield f"construct {construct} is missing in {m.name} (file {', '.join(m.files)})"


@cache  # all but one of the files are the same in each test
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def calls(source: str) -> frozenset[str]:
    """The names that are called."""
    return frozenset(node.func.id for node in ast.walk(parsed(source)) if is_call(node))


@cache
def cases(source: str, function: str) -> frozenset[str]:
    """The classes that the ``case``s of a function name."""
    (found,) = (n for n in ast.walk(parsed(source)) if isinstance(n, ast.FunctionDef) and n.name == function)
    match = next(n for n in ast.walk(found) if isinstance(n, ast.Match))
    return frozenset(name for case in match.cases for name in whole(case))


def whole(case: ast.match_case) -> set[str]:
    """The classes that a case takes, not those inside their patterns."""
    todo, found = [case.pattern], set()
    while todo:
        match todo.pop():
            case ast.MatchOr(patterns):
                todo += patterns
            case ast.MatchAs(pattern=ast.pattern() as inner):
                todo.append(inner)
            case ast.MatchClass(cls=ast.Name(id=name)):
                found.add(name)
    return found


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


# ---------------------------------------------------------------- every pass has every construct


def test_every_pass_has_every_construct() -> None:
    """Fails with: construct X is missing in pass Y (file Z)."""
    assert list(missing(ROOT)) == []


def test_the_list_in_contributing_names_the_files() -> None:
    """The walk as CONTRIBUTING.md describes it goes through every file that is read here."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = {p.file for p in PASSES} | {f for m in MAKERS for f in m.files}
    assert [file for file in sorted(files) if file not in text] == []


# ---------------------------------------------------------------- by coverage


def shredded_terms(e: Expr, parts: frozenset[str]) -> Iterator[Term]:
    """The terms that a query becomes: shredded, in normal form, and its deltas."""
    s = shred(e)
    yield from (s.flat, *dictionaries(s.context), term(normal(s.flat), check(s.flat).row))
    yield delta(s.flat, parts)


def constructs(terms: Iterator[Term]) -> set[str]:
    return {type(node).__name__ for t in terms for node in nodes(t)}


NOT_MADE = {"DictPlus"}  # (d₁ ⊎ d₂)(l) of the paper's delta rules: here only readers of terms make it
CUT = {"Group", "Top"}  # and what comes of it has no such terms: golden blocks are about what has a delta


def test_random_queries_have_every_construct() -> None:
    """Those of the source calculus as drawn, the others in what they become."""
    made: set[str] = set()
    for seed in range(150):
        case = random_case(seeded(seed))
        (batch,) = case.batches
        made |= constructs(iter([case.query])) | constructs(shredded_terms(case.query, batch.parts))
        made |= constructs(iter([grouped_query(seeded(seed), case.schema)]))
    assert (EXPR | DICT | ELEM) - made == NOT_MADE


def test_golden_blocks_have_every_construct() -> None:
    """The views of tests/golden, and what they become."""
    made: set[str] = set()
    for q in QUERIES.values():
        parts = frozenset(p for name, row in q.relations for p in stored_parts(name, row))
        made |= constructs(iter([q.body])) | constructs(shredded_terms(q.body, parts))
    assert (EXPR | DICT | ELEM) - made == NOT_MADE | CUT


# ---------------------------------------------------------------- the check can fail


class _Without(ast.NodeTransformer):
    """Drops the cases of a function for one construct."""

    def __init__(self, function: str, construct: str) -> None:
        self.function, self.construct = function, construct

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name == self.function:
            match = next(n for n in ast.walk(node) if isinstance(n, ast.Match))
            match.cases = [c for c in match.cases if self.construct not in whole(c)]
        return node


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that are read, in a folder of their own."""
    files = {p.file for p in PASSES} | {str(f.relative_to(ROOT)) for m in MAKERS for g in m.files for f in ROOT.glob(g)}
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


@pytest.mark.parametrize("p", PASSES, ids=lambda p: f"{p.name}-{p.function}")
def test_a_pass_that_forgets_one_is_named(p: Pass, copy: Path) -> None:
    file = copy / p.file
    construct = max(p.constructs)
    tree = _Without(p.function, construct).visit(ast.parse(file.read_text(encoding="utf-8")))
    file.write_text(ast.unparse(tree), encoding="utf-8")
    found = list(missing(copy))
    assert f"construct {construct} is missing in pass {p.name} (file {p.file}, function {p.function})" in found


@pytest.mark.parametrize("m", MAKERS, ids=lambda m: m.name)
def test_a_maker_that_forgets_one_is_named(m: Maker, copy: Path) -> None:
    for glob in m.files:
        for file in copy.glob(glob):
            file.write_text(file.read_text(encoding="utf-8").replace("For(", "Other("), encoding="utf-8")
    assert f"construct For is missing in {m.name} (file {', '.join(m.files)})" in list(missing(copy))


def test_a_construct_that_nobody_knows_is_missing_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Expr had one more class."""
    more: Callable[[Pass], Pass] = lambda p: Pass(p.name, p.file, p.function, p.constructs | {"More"})  # noqa: E731
    monkeypatch.setattr(f"{__name__}.PASSES", tuple(map(more, PASSES)))
    assert sum("construct More" in text for text in missing(ROOT)) == len(PASSES)
    assert not hasattr(syntax, "More")
