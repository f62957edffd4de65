"""States on the command line: which folder, where its catalogue is, which moment of it, and what is looked at."""

import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

import ripplenest as rn
from ripplenest.cli.output import escaped

if TYPE_CHECKING:
    from ripplenest.api.handles import RelationHandle, ViewHandle

VARIABLE = "RIPPLENEST_CATALOGUE"
HERE, ELSEWHERE, SEGMENTS = "catalogue.sqlite", "catalogue.json", "segments"  # what a state directory has

T = TypeVar("T")
Engine = Literal["auto", "local", "spark"]
Moment = int | tuple[str, int]  # a version, or the batch that made it

State = Annotated[Path, typer.Argument(help="A state directory.", exists=True, file_okay=False)]
_AT = f"URL of the PostgreSQL database with its catalogue; a password is better in {VARIABLE}."
Catalogue = Annotated[str | None, typer.Option(metavar="URL", help=_AT)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a view or relation.")]
_MOST = "How much of it the work may take, such as 512MB; RIPPLENEST_MEMORY, or 1 GiB, without."
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help=_MOST)]
EngineOption = Annotated[Engine, typer.Option(help="What computes rows.")]


def open_state(
    state: Path,
    catalogue: str | None,
    engine: Engine = "auto",
    publishes: bool = False,
    memory: str | None = None,
) -> "rn.Database":
    """An existing state; looking at a folder must not make one of it. What is not published is a warning on stderr, and
    stays so unless the command ``publishes``: to read is not to write.

    Raises typer.BadParameter for a folder of something else, StateError for one that cannot be read, and what
    ``ripplenest.open`` raises.
    """
    try:
        missing = no_state(state)
    except OSError as error:
        what = "the folder cannot be read"
        raise rn.errors.StateError(what, where=str(error.filename), got=error.strerror) from error
    if missing:
        raise typer.BadParameter(f"{state} {missing}", param_hint="STATE")
    db, said = open_and_said(state, catalogue, engine, publishes, memory)
    warned(said)
    return db


def open_and_said(
    folder: Path,
    catalogue: str | None,
    engine: Engine = "auto",
    publishes: bool = False,
    memory: str | None = None,
) -> "tuple[rn.Database, list[str]]":
    """The state in ``folder``, and what it warns of: publications that are behind.

    Without ``catalogue`` the variable says where it is (``url_of``).
    """
    url = url_of(folder, catalogue)
    db, said = heard(lambda: rn.open(folder, engine=engine, catalogue=url, catch_up=publishes, memory=memory))
    return db, said if publishes else [*said, *map(escaped, db.behind())]


def url_of(folder: Path, catalogue: str | None) -> str | None:
    """Where the catalogue is: that of the option; else that of the variable, for a state with its catalogue elsewhere
    and for no other."""
    return catalogue or (os.environ.get(VARIABLE) or None if (folder / ELSEWHERE).exists() else None)


def heard(work: Callable[[], T]) -> tuple[T, list[str]]:
    """What ``work`` gives, and what it warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        result = work()
    return result, [escaped(str(warning.message)) for warning in found]


def warned(said: list[str]) -> None:
    """Warnings as they look on the command line."""
    for text in said:
        print(f"warning: {text}", file=sys.stderr)


def no_state(folder: Path) -> str:
    """What ``folder`` lacks of a state; "" for one that has all of it, however damaged. Raises OSError."""
    names = set(os.listdir(folder))
    stored = (folder / SEGMENTS).is_dir()
    if not names:
        return "is empty"
    if not {HERE, ELSEWHERE} & names:
        lost = f"has {SEGMENTS}, but no catalogue: {HERE} or {ELSEWHERE} is lost"
        return lost if stored else f"is no state directory: it has no {HERE} and no {ELSEWHERE}"
    return "" if stored else f"has a catalogue, but no {SEGMENTS}: they are lost, or its making was interrupted"


def moment(text: str) -> Moment:
    """``N`` or ``SOURCE:SEQ``. Raises typer.BadParameter, also for numbers that no version can have."""
    source, colon, seq = text.rpartition(":")
    if not colon and re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return int(text)
    if colon and re.fullmatch(r"-?\d{1,18}", seq, re.ASCII) and not re.search("[\ud800-\udfff]", source):
        return source, int(seq)
    raise typer.BadParameter(f"{text} is neither a version nor SOURCE:SEQ, such as 12 or shop:3")


def version_at(db: "rn.Database", at: Moment | None) -> int:
    """The version that ``at`` means, the newest without one. Raises StateError for one that is not kept."""
    return db.version if at is None else db.version_of(at)


def handle(db: "rn.Database", name: str, at: Moment | None = None) -> "tuple[str, RelationHandle | ViewHandle]":
    """ "view" or "relation", and the handle, ``at`` a version if one is given: a view that was dropped since may have
    been there. Raises UnknownView, and StateError for a version that does not show it."""
    if name in db.relations:
        found = db.relation(name)
        return "relation", found if at is None else found.as_of(at)
    try:
        return "view", db.view(name, at)
    except rn.errors.UnknownView as error:
        possible = [*db.views, *db.relations]
        raise rn.errors.UnknownView("there is no such view or relation", got=name, possible=possible) from error
