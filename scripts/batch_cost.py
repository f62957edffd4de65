"""What a batch of one row costs in a fresh state in process, as medians in milliseconds, in all and by phase.

    python -P scripts/batch_cost.py                      this checkout
    python -P scripts/batch_cost.py OTHER                beside it the checkout OTHER, in turns, and the ratio
    python -P scripts/batch_cost.py OTHER --rounds 9 --batches 200

Each checkout runs with the Python of its own ``.venv``, if it has one, in a new process for each round. A phase is
what happens in it and in no phase inside it:

    checking    operations become signed rows
    triggers    these become changes of maps
    segments    changes become segments, with merges
    files       segments are written; without fsync
    fsync       of files and their folder
    catalogue   transactions; without their commits
    commit      the database makes a transaction durable, or ends one that only read
    rest        everything else
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
PHASES = ("checking", "triggers", "segments", "files", "fsync", "catalogue", "commit", "rest")
WARM = 10  # batches that are not counted


class Phases:
    """Seconds by phase; a phase stops while another one runs inside it."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._inside = ["rest"]
        self._since = time.perf_counter()

    def enter(self, phase: str) -> None:
        self._count()
        self._inside.append(phase)

    def leave(self) -> None:
        self._count()
        self._inside.pop()

    def take(self) -> Counter[str]:
        """What was spent since the last call."""
        self._count()
        found, self.spent = self.spent, Counter()
        return found

    def _count(self) -> None:
        now = time.perf_counter()
        self.spent[self._inside[-1]] += now - self._since
        self._since = now

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            self.enter(phase)
            try:
                return function(*args, **kwargs)
            finally:
                self.leave()

        return run

    def around(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same for a context manager: its block is part of the phase."""

        @contextmanager
        def run(*args: Any, **kwargs: Any) -> Iterator[Any]:
            self.enter(phase)
            try:
                with function(*args, **kwargs) as found:
                    yield found
            finally:
                self.leave()

        return run


def named(name: str) -> list[dict[str, Any]]:
    """The names of each module of the project that has something to call under ``name``."""
    modules = [vars(m) for n, m in list(sys.modules.items()) if n.startswith("ripplenest")]
    return [names for names in modules if callable(names.get(name))]


def replaced(name: str, change: Callable[[Any], Any]) -> None:
    """Change the function ``name``, or the method ``Class.method``, wherever a module of the project has it: checkouts
    may differ in where that is."""
    first, _, method = name.partition(".")
    ours = named(first)
    holders = [names for names in ours if not method or method in vars(names[first])]
    if not holders:
        raise SystemExit(f"no module of this checkout has {name}")
    if method:
        found = holders[0][first]
        setattr(found, method, change(getattr(found, method)))
    else:
        made = change(holders[0][first])
        for names in holders:
            names[first] = made


def watched() -> Phases:
    from sqlalchemy.engine.default import DefaultDialect  # noqa: PLC0415 - of the checkout that is measured

    phases = Phases()
    places = {
        "carry_out" if named("carry_out") else "Session.run": "checking",
        "propagate": "triggers",
        "recomputed": "triggers",
        "Draft.__init__": "segments",
        "Disk.write_bytes": "files",
    }
    for name, phase in places.items():
        replaced(name, functools.partial(phases.timed, phase))
    replaced("Catalogue.transaction", functools.partial(phases.around, "catalogue"))
    os.fsync = phases.timed("fsync", os.fsync)
    DefaultDialect.do_commit = phases.timed("commit", DefaultDialect.do_commit)  # type: ignore[method-assign]
    return phases


def measure(batches: int) -> list[dict[str, float]]:
    """Milliseconds by phase of each batch, in this process."""
    import ripplenest as rn  # noqa: PLC0415 - of the checkout that is measured

    @rn.record
    class Film:
        name: str
        gen: str | None

    @rn.view
    def related(F: rn.Bag[Film]):  # type: ignore[no-untyped-def]
        return [{"name": f.name, "related": [g.name for g in F if g.gen == f.gen and g.name != f.name]} for f in F]

    found = []
    engine: Any = "python" if rn.__version__ == "0.1.0" else "local"  # what a checkout calls it
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/state", engine=engine) as db:
        db.relation("F", Film, key="name")
        db.load("F", [{"name": f"old {i}", "gen": f"genre {i % 50}"} for i in range(500)])
        db.create(related)
        phases = watched()
        for i in range(WARM + batches):
            phases.take()
            with db.batch() as b:
                b.insert("F", [{"name": f"new {i}", "gen": f"genre {i % 50}"}])
            spent = phases.take()
            found.append({phase: spent[phase] * 1e3 for phase in PHASES} | {"all": spent.total() * 1e3})
    return found[WARM:]


def run(checkout: Path, batches: int) -> list[dict[str, float]]:
    """``measure`` in a process of ``checkout``."""
    own = checkout / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    command = [python, "-P", __file__, "--measure", "--batches", str(batches)]
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, check=True, text=True)  # noqa: S603 - this file
    result: list[dict[str, float]] = json.loads(done.stdout)
    return result


def medians(batches: list[dict[str, float]]) -> dict[str, float]:
    return {phase: statistics.median(b[phase] for b in batches) for phase in (*PHASES, "all")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.batches)))
        return
    checkouts = [HERE] if asked.other is None else [HERE, asked.other.resolve()]
    rounds = [[medians(run(checkout, asked.batches)) for checkout in checkouts] for _ in range(asked.rounds)]
    print(f"{'ms':<12}" + "".join(f"{c.parent.name}/{c.name:<12}"[-20:].rjust(22) for c in checkouts))
    for phase in (*PHASES, "all"):
        shown = (statistics.median(r[i][phase] for r in rounds) for i in range(len(checkouts)))
        print(f"{phase:<12}" + "".join(f"{ms:22.2f}" for ms in shown))
    if len(checkouts) > 1:
        ratios = [a["all"] / b["all"] for a, b in rounds]
        print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds)")


if __name__ == "__main__":
    main()
