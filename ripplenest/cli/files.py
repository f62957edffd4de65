"""Views in files: which file and view a target means, and what is wrong with those that cannot be read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import typer

import ripplenest as rn
from ripplenest.cli.output import printable
from ripplenest.cli.program import FILE, Wrong, run, run_on

V = TypeVar("V", "rn.View | rn.TextView", "rn.View | rn.TextView | Wrong")


def split(target: str) -> tuple[Path, str]:
    """``PATH`` or ``PATH:VIEW`` as the path and the name of the view, which is "" for all of them."""
    whole = ":" not in target or Path(target).exists()
    path, _, name = (target, "", "") if whole else target.rpartition(":")
    if not path:
        raise typer.BadParameter(f"{target!r} has no name of a file", param_hint=FILE)
    return Path(path), name


def views(path: Path, name: str) -> "list[rn.View | rn.TextView]":
    """The views of a file, or the one called ``name``. Raises typer.BadParameter when there is none, and the error of
    the first that is wrong; a Python file that fails ends it with exit code 2."""
    _check_file(path)
    found: list[rn.View | rn.TextView] = [*(rn.read(path).views if path.suffix == ".nrc" else run(path))]
    return _chosen(found, path, name)


def views_and_wrong(path: Path, name: str) -> "list[rn.View | rn.TextView | Wrong]":
    """As ``views``, with those that are wrong. Of a .nrc file that is not in the language, the first error is the only
    one."""
    _check_file(path)
    try:
        found: list[rn.View | rn.TextView | Wrong] = _text_views(path) if path.suffix == ".nrc" else [*run_on(path)]
    except rn.RipplenestError as error:
        return [Wrong(_text_view_at(path, error.where), error)]
    if any(view.name is None for view in found) and all(view.name != name for view in found):
        return found  # what else the file has is not known
    return _chosen(found, path, name)


def _text_views(path: Path) -> "list[rn.View | rn.TextView | Wrong]":
    """In the order of the file."""
    program = rn.read(path, strict=False)
    found: list[rn.View | rn.TextView | Wrong] = [*program.views]
    for i, wrong in enumerate(program.wrong):
        found.insert(wrong.above + i, Wrong(wrong.name, wrong.error))
    return found


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder, and not a .nrc or Python file", param_hint=FILE)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint=FILE)


def _chosen(found: Sequence[V], path: Path, name: str) -> list[V]:
    """All, or the one called ``name``; typer.BadParameter when there is none."""
    chosen = [view for view in found if name in ("", view.name)]
    if not found:
        raise typer.BadParameter(f"{path} has no views", param_hint=FILE)
    if not chosen:
        has = ", ".join(printable(view.name or "") for view in found)
        raise typer.BadParameter(f"{path} has no view {name}; it has {has}", param_hint=FILE)
    return chosen


def _text_view_at(path: Path, where: str) -> str | None:
    """The view whose declaration begins last before ``where`` (file:line:column); None if that is no view's."""
    place = re.search(r":(\d+):(\d+)$", where)
    if place is None:
        return None
    last = None
    for n, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").split("\n"), 1):
        head = re.match(r"\s*(view|relation|record)\s+(`[^`]*`|[^\s=:]+)", line)
        if head and (n, head.start(1) + 1) < (int(place[1]), int(place[2])):
            last = head
    return last[2].strip("`") if last and last[1] == "view" else None
