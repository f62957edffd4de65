"""What a run leaves in a folder: RESULTS.md, results.json and the drawings; one on Spark, SPARK.md and spark.json."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ripplenest.bench.cluster.results import OnSpark
from ripplenest.bench.cluster.sections import sections as sections_on_spark
from ripplenest.bench.plots import write_plots
from ripplenest.bench.results import Run
from ripplenest.bench.sections import Section, sections

INTRODUCTION = """# What Ripplenest costs

Written by `ripplenest bench`, which measures Ripplenest and what a user would take instead on the same machine, on
like changes, in rounds of its own each: who computes the view again empties the caches of whoever comes next. Every
answer that a figure rests on was compared with DuckDB's, before the batches and after them, and what differed is
refused. A batch lasts from its first row until it is committed to disk; rivals keep all in
memory, and what they do to apply the change is not counted. Where a large state is compared with a small one, or many
views with one, both take turns, so that a moment in which the machine is slow meets both. `ripplenest bench --engine
spark` measures data that Spark carries, and writes SPARK.md beside this.

Structured Streaming and Pathway maintain the view instead, each in a process of its own, and are asked for inserts
only. A batch of Pathway lasts until the last changed row has come out, in memory. One of Structured Streaming is what
Spark calls triggerExecution of a micro-batch, its state in RocksDB being warm: from looking for the file that has the
rows until the state is committed; it writes its output nowhere.
"""


ON_SPARK = """# What Ripplenest costs on Spark

Written by `ripplenest bench --engine spark`: relations come from Parquet as DataFrames, and the view is written as
Parquet, nested and in parts. Beside it stands Spark alone, with the same memory. Its answers were compared with ours,
before the batches and after one of them; what differed is refused. RESULTS.md, in the same folder, has the figures
without Spark.
"""


def shown(run: Run | OnSpark) -> list[Section]:
    """The tables of a run."""
    return sections(run) if isinstance(run, Run) else sections_on_spark(run)


def write(run: Run, folder: Path) -> list[Path]:
    """Write all of it into ``folder``, made when missing; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    plots = write_plots(run, folder)
    drawn = "\n".join(f"![{path.stem}]({path.name})\n" for path in plots)
    return [*_texts(folder, "results", [INTRODUCTION, drawn], shown(run), run.to_dict()), *plots]


def write_on_spark(run: OnSpark, folder: Path) -> list[Path]:
    """The same of a run on Spark."""
    folder.mkdir(parents=True, exist_ok=True)
    return _texts(folder, "spark", [ON_SPARK], shown(run), run.to_dict())


def _texts(
    folder: Path, name: str, before: Sequence[str], tables: Sequence[Section], data: Mapping[str, Any]
) -> list[Path]:
    text, plain = folder / f"{name.upper()}.md", folder / f"{name}.json"
    text.write_text("\n".join([*before, *(section.markdown() for section in tables)]), encoding="utf-8")
    plain.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [text, plain]
