"""``bench``: what Ripplenest costs on this machine, beside what a user would take instead."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

from ripplenest.bench import asked
from ripplenest.cli.output import Json, print_json, print_table, printable

if TYPE_CHECKING:
    from ripplenest.bench.cluster.results import OnSpark
    from ripplenest.bench.results import Run

T = TypeVar("T")
_SCALES = "Sizes, where 1 has 6 million items, a million pairs, and a million edges; the goals are about 0.02 and 1."
_WORKLOADS = (
    f"{', '.join(asked.WORKLOADS)}: nested rows of flat and of nested ones, a flat join; totals in nested rows and of "
    "them (nn2, nf2), averages of pairs and of a join of pairs; the triangles of a graph; first rows of groups (top10, "
    "most); products of matrices of one entry a row (chain) and of four (paths); moments of a join of five relations; "
    "visits with the hits between their ends (sessions); hits by sessions that end where a pause is long (gaps)."
)
_ROWS = (
    "Rows that a batch changes, such as 100 or 10k; unless set, each workload has its own. Those above a tenth of the "
    "rows (of joingroup, a fifth) are left out."
)
_RIVALS = (
    f"Whom to time beside it: {', '.join(asked.RIVALS)}. Answers are compared with DuckDB's in any case. Streaming, "
    "which is Spark's, and Pathway maintain the views that they can, and the others compute them again."
)
_ENGINE = "local; or spark: f2 on Spark, by --scale, --rounds and --seed, with goals about 0.02, 0.5, 1 and 5."
_SECONDS = "Time for the batches of a workload at one scale, and for rivals; 10 and 600 times the scale unless set."


def bench(
    scale: Annotated[str, typer.Option(metavar="A,B", help=_SCALES)] = "0.02,1",
    workload: Annotated[str, typer.Option(metavar="A,B", help=_WORKLOADS)] = ",".join(asked.WORKLOADS),
    rows: Annotated[str | None, typer.Option(metavar="A,B", help=_ROWS)] = None,
    rivals: Annotated[str, typer.Option(metavar="A,B", help=_RIVALS)] = "duckdb,polars",
    rounds: Annotated[int, typer.Option(min=1, help="How often a batch is measured; quick ones more often.")] = 5,
    seconds: Annotated[float | None, typer.Option(min=0, help=_SECONDS)] = None,
    engine: Annotated[str, typer.Option(metavar="E", help=_ENGINE)] = "local",
    driver_memory: Annotated[str, typer.Option(metavar="M", help="Of the JVM, with --engine spark.")] = "1g",
    views: Annotated[int, typer.Option(min=2, help="How many views of one shape.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the data and the batches.")] = 1,
    out: Annotated[Path | None, typer.Option(file_okay=False, help="Write RESULTS.md, JSON and SVG there.")] = None,
    as_json: Json = False,
) -> None:
    """Measure batches, loads and reading, and compare them with DuckDB, Polars and others that compute views again or
    maintain them; and a published table beside deltalake alone.

    It needs the packages of the extra "bench". Where an answer differs from DuckDB's, its figures are not shown.
    """
    scales = _each(scale, asked.scale, "--scale")
    (where,) = _each(engine, partial(asked.name, known=asked.ENGINES), "--engine")
    command = " ".join(["ripplenest", *sys.argv[1:]])
    if where == "spark":
        (memory,) = _each(driver_memory, asked.driver_memory, "--driver-memory")
        _on_spark(scales, seed, rounds, memory, command, out, as_json)
    wanted = asked.Asked(
        scales=scales,
        workloads=_each(workload, partial(asked.name, known=asked.WORKLOADS), "--workload"),
        rows=None if rows is None else tuple(sorted(_each(rows, asked.count, "--rows"))),
        rivals=_each(rivals, partial(asked.name, known=asked.RIVALS), "--rivals"),
        rounds=rounds,
        seconds=seconds,
        views=views,
        seed=seed,
        command=command,
    )
    from ripplenest.bench.library import check_installed  # noqa: PLC0415 - what it needs is optional

    check_installed()
    from ripplenest.bench.run import run  # noqa: PLC0415
    from ripplenest.bench.written import write  # noqa: PLC0415

    found = run(wanted, _say)
    if out is not None:
        write(found, out)
    _end(found, as_json)


def _on_spark(
    scales: tuple[float, ...], seed: int, rounds: int, memory: str, command: str, out: Path | None, as_json: bool
) -> NoReturn:
    from ripplenest.bench.library import check_installed  # noqa: PLC0415 - what it needs is optional

    check_installed()
    from ripplenest.bench.cluster.run import run  # noqa: PLC0415
    from ripplenest.bench.written import write_on_spark  # noqa: PLC0415

    found = run(scales, seed, rounds, memory, command, _say)
    if out is not None:
        write_on_spark(found, out)
    _end(found, as_json)


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr)


def _end(found: "Run | OnSpark", as_json: bool) -> NoReturn:
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    raise typer.Exit(1 if found.refused else 0)


def _each(text: str, read: Callable[[str], T], option: str) -> tuple[T, ...]:
    """The parts of ``text`` between commas, each once. Raises typer.BadParameter."""
    try:
        return tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))
    except ValueError as error:
        raise typer.BadParameter(printable(str(error)), param_hint=option) from None


def _print(found: "Run | OnSpark") -> None:
    from ripplenest.bench.written import shown  # noqa: PLC0415

    for section in shown(found):
        print(f"\n{section.title}\n")
        if section.rows:
            print_table(section.rows, section.head, range(section.right, len(section.head)))
        for note in section.notes:
            print(note)
