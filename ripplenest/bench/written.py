"""What a run leaves in a folder: RESULTS.md, results.json and the drawings."""

import json
from pathlib import Path

from ripplenest.bench.plots import write_plots
from ripplenest.bench.results import Run
from ripplenest.bench.sections import sections

INTRODUCTION = """# What Ripplenest costs

Written by `ripplenest bench`, which measures Ripplenest and what a user would take instead on the same machine, in
turns on the same changes. Every answer that a figure rests on was compared with DuckDB's, before the batches and after
them, and what differed is refused. A batch lasts from its first row until it is committed to disk; rivals keep all in
memory, and what they do to apply the change is not counted.
"""


def write(run: Run, folder: Path) -> list[Path]:
    """Write all of it into ``folder``, made when missing; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    plots = write_plots(run, folder)
    drawn = "\n".join(f"![{path.stem}]({path.name})\n" for path in plots)
    text = "\n".join([INTRODUCTION, drawn, *(section.markdown() for section in sections(run))])
    results, data = folder / "RESULTS.md", folder / "results.json"
    results.write_text(text, encoding="utf-8")
    data.write_text(json.dumps(run.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [results, data, *plots]
