"""Laws over random choices: what failed once is asked first, then new cases; what fails is made small and kept.

A kept case is a list of numbers in ``tests/regressions/<folder>/<module>/<test>.json``, beside the parameters of the
test and what the case looks like. A change of the generators makes another case of the same numbers, which is a case
like any other. A failure writes the file, to be committed with what mends it.
"""

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
from attrs import frozen

from support.choices import Choices, recorded, replayed
from support.shrink import TRIES, Made, shrink

TESTS = Path(__file__).resolve().parent.parent
REGRESSIONS = TESTS / "regressions"
FAILURES = (Exception, pytest.fail.Exception)
SHOWN = 2000  # characters of a case


@frozen
class Law:
    """One test with its parameters: ``holds`` asks it about the case that the choices make."""

    kept: Path
    given: Mapping[str, str]
    holds: Callable[[Choices], None]
    show: Callable[[Choices], str]
    tries: int = TRIES

    def check(self, examples: int, fresh: bool) -> None:
        """Kept cases, then ``examples`` from seeds: the same ones in every run, unless they are to be ``fresh``."""
        for made in self.regressions():
            self.ask(replayed(made))
        seeds = SystemRandom() if fresh else Random(f"{self.kept.stem} {sorted(self.given.items())}")
        for _ in range(examples):
            self.ask(Random(seeds.randrange(2**32)).randrange)

    def regressions(self) -> list[Made]:
        return [entry["choices"] for entry in read(self.kept) if entry["given"] == self.given]

    def ask(self, number: Callable[[int], int]) -> None:
        """One case; what fails is made small and kept."""
        c, made = recorded(number)
        try:
            self.holds(c)
        except FAILURES as error:
            self._fail(made, type(error))

    def _fail(self, made: Made, kind: type[BaseException]) -> None:
        """Fail as the smallest case does that fails in the same way, and keep it."""

        def fails(candidate: Made) -> Made | None:
            c, asked = recorded(replayed(candidate))
            try:
                self.holds(c)
            except FAILURES as error:
                return asked if type(error) is kind else None
            return None

        small = shrink(made, fails, self.tries)
        shown = self._shown(small)
        self._keep(small, shown)
        try:
            self.holds(Choices(replayed(small)))
        except FAILURES as error:
            error.add_note(f"{len(small)} choices, {len(made)} before it was made small: {small}\n{shown}")
            error.add_note(f"kept in {self.kept}, which is asked first from here on: commit it with what mends this")
            raise
        raise AssertionError(f"fails once and holds again, so that it depends on more than its choices: {small}")

    def _shown(self, made: Made) -> str:
        try:
            return self.show(Choices(replayed(made)))[:SHOWN]
        except Exception as error:  # making the case is what fails
            return repr(error)

    def _keep(self, made: Made, shown: str) -> None:
        entries = read(self.kept)
        entry = {"given": dict(self.given), "choices": made, "case": shown.splitlines()}
        if not any((e["given"], e["choices"]) == (entry["given"], made) for e in entries):
            write(self.kept, [*entries, entry])


def read(path: Path) -> list[dict[str, Any]]:
    """The kept cases of one law."""
    return json.loads(path.read_text()) if path.exists() else []


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    """Each entry on a few lines: its parameters, its choices and what it looks like."""
    lines = [
        "{" + ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in e.items()) + "}"
        for e in entries
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n " + ",\n ".join(lines) + "\n]\n")


def law(
    make: Callable[[Choices], Any] = lambda c: c,
    examples: int = 200,
    *,
    fresh: bool = False,
    shown: Any = None,
    tries: int = TRIES,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The test holds for each case that ``make`` makes, its last parameter. ``fresh``: other cases in every run.

    ``shown``: what is kept beside the choices, of them and of the parameters; what ``make`` makes unless given.
    ``tries``: how often a failure is asked on its way to a small case, fewer where asking takes long. The test has an
    attribute ``law``, which makes its Law of its parameters: tests that meet cases otherwise have them kept by it.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        *others, last = signature.parameters.values()
        where = kept_in(test)

        def of(**given: Any) -> Law:
            def holds(c: Choices) -> None:
                test(**given, **{last.name: make(c)})

            def show(c: Choices) -> str:
                return _text(shown(c, **parameters) if shown else make(c))

            parameters = {name: given[name] for name in given if name in _parametrized(run)}
            return Law(where, {name: _plain(value) for name, value in parameters.items()}, holds, show, tries)

        @functools.wraps(test)
        def run(**given: Any) -> None:
            of(**given).check(examples, fresh)

        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        run.law = of  # type: ignore[attr-defined]
        del run.__wrapped__  # or pytest looks for a fixture of that name
        return run

    return decorate


def _parametrized(test: Callable[..., None]) -> set[str]:
    """The parameters of a test that say which test it is: its others are fixtures, another object in each run."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    found = [mark.args[0] for mark in marks]
    return {name.strip() for names in found for name in (names.split(",") if isinstance(names, str) else names)}


def kept_in(test: Callable[..., None]) -> Path:
    """Where the counterexamples of a test are: the path of its module, and its name."""
    module = Path(inspect.getfile(test)).resolve()
    inside = module.relative_to(TESTS) if module.is_relative_to(TESTS) else Path(module.name)
    return REGRESSIONS / inside.with_suffix("") / f"{test.__name__}.json"


def _plain(value: Any) -> str:
    return str(getattr(value, "__name__", None) or getattr(value, "name", None) or value)


def _text(case: Any) -> str:
    return "" if isinstance(case, Choices) else str(case)
