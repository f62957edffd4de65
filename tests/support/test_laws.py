"""What fails is made small, kept and asked first; cases are the same in every run; each kept case has a law."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from support import laws
from support.choices import Choices, recorded, replayed
from support.laws import REGRESSIONS, TESTS, Law, law, read, write
from support.shrink import shrink


def numbers(c: Choices) -> list[int]:
    return [c.number(100) for _ in range(c.number(30))]


def law_of(tmp_path: Path, holds: Callable[[list[int]], bool], root: str = "a") -> Law:
    def ask(c: Choices) -> None:
        assert holds(numbers(c))

    return Law(tmp_path / "some" / "law.json", {"root": root}, ask, lambda c: str(numbers(c)))


def test_a_failure_is_made_small_kept_and_asked_first(tmp_path: Path) -> None:
    wrong = law_of(tmp_path, lambda found: all(n < 42 for n in found))
    with pytest.raises(AssertionError) as caught:
        wrong.check(200, fresh=True)
    notes = "\n".join(caught.value.__notes__)
    assert "[1, 42]\n[42]" in notes and str(wrong.kept) in notes
    assert read(wrong.kept) == [{"given": {"root": "a"}, "choices": [1, 42], "case": ["[42]"]}]
    asked: list[list[int]] = []
    law_of(tmp_path, lambda found: not asked.append(found)).check(3, fresh=False)
    assert asked[0] == [42] and len(asked) == 4
    other: list[list[int]] = []
    law_of(tmp_path, lambda found: not other.append(found), "b").check(3, fresh=False)
    assert len(other) == 3
    with pytest.raises(AssertionError):
        wrong.check(0, fresh=False)
    assert len(read(wrong.kept)) == 1


def test_cases_are_the_same_in_every_run_unless_fresh(tmp_path: Path) -> None:
    def met(fresh: bool) -> list[list[int]]:
        found: list[list[int]] = []
        law_of(tmp_path, lambda case: not found.append(case)).check(20, fresh)
        return found

    assert met(False) == met(False)
    assert met(True) != met(True)


def test_what_is_found_is_as_short_as_can_be() -> None:
    """One number below 100 is not above 150, so two are needed."""

    def fails(made: list[int]) -> list[int] | None:
        c, asked = recorded(replayed(made))
        return asked if sum(numbers(c)) > 150 else None

    small = shrink([9, 77, 3, 0, 80, 99, 1, 2, 3, 5], fails)
    assert small[0] == 2 and len(small) == 3 and sum(small[1:]) == 151


def test_another_failure_is_no_smaller_case_of_this_one(tmp_path: Path) -> None:
    def ask(c: Choices) -> None:
        n = c.number(100)
        assert n < 50
        if n > 10:
            raise ValueError(n)

    kept = tmp_path / "law.json"
    write(kept, [{"given": {}, "choices": [90], "case": []}])
    with pytest.raises(AssertionError):
        Law(kept, {}, ask, str).check(0, fresh=False)
    assert [e["choices"] for e in read(kept)] == [[90], [50]]


def test_a_fixture_is_no_part_of_a_case(tmp_path: Path) -> None:
    """It is another object in each run; what is kept is asked again for the same parameters, and shown with them."""

    @pytest.mark.parametrize("root, other", [])
    @law(numbers, shown=lambda c, root, other: (root, other, numbers(c)), tries=1)
    def test_some(tmp_path: Path, root: str, other: int, found: list[int]) -> None: ...

    found = test_some.law(root="a", other=1, tmp_path=tmp_path)  # type: ignore[attr-defined]
    assert (found.given, found.tries) == ({"root": "a", "other": "1"}, 1)
    assert found.show(Choices(replayed([1, 42]))) == "('a', 1, [42])"


def test_few_tries_make_a_case_less_small(tmp_path: Path) -> None:
    met: list[list[int]] = []
    wrong = evolve(law_of(tmp_path, lambda found: bool(met.append(found))), tries=5)
    with pytest.raises(AssertionError):
        wrong.ask(replayed([3, 50, 60, 70]))
    assert met[0] == [50, 60, 70] and len(met) <= 7


def test_a_law_that_fails_by_chance_says_so(tmp_path: Path) -> None:
    asked = iter([False])
    with pytest.raises(AssertionError, match="depends on more than its choices"):
        law_of(tmp_path, lambda _: next(asked, True)).check(1, fresh=False)


def laws_of(module: Path) -> set[str]:
    """The tests of a module that are laws."""
    tree = ast.parse(module.read_text())
    return {
        f.name
        for f in tree.body
        if isinstance(f, ast.FunctionDef)
        for d in f.decorator_list
        if isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id == laws.law.__name__
    }


def test_each_kept_case_is_replayed() -> None:
    """A file belongs to a law, so that it is asked first; and has the choices of some case."""
    for path in sorted(REGRESSIONS.rglob("*.*")):
        module = (TESTS / path.relative_to(REGRESSIONS)).parent.with_suffix(".py")
        assert module.exists() and path.stem in laws_of(module), f"no law asks {path}"
        assert all(e.keys() == {"given", "choices", "case"} for e in read(path)), path
    assert len(laws_of(TESTS / "delta" / "test_delta_laws.py")) >= 4
