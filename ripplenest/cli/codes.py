"""What the exit code of a command says, in one place: ``ripplenest --help`` prints it."""

from collections.abc import Iterator
from contextlib import contextmanager

import ripplenest as rn
from ripplenest.cli.output import ended, escaped, message

DONE, WRONG, REFUSED, NOT_PUBLISHED = 0, 1, 2, 3
PIPE_CLOSED = 141  # what a shell says of a program that SIGPIPE ended

CODES = {
    DONE: "done",
    WRONG: "a command that looks found something wrong, or you said no; nothing was changed",
    REFUSED: "an error, which is on stderr; rows are as they were",
    NOT_PUBLISHED: "done and committed, but a published table could not be written; do not repeat the command",
    PIPE_CLOSED: "the reader of stdout has gone",
}
MEND = (
    "mend what it says, then ripplenest publish STATE, which writes what is missing; where others changed the table, "
    "ripplenest publish STATE VIEW PATH --rebuild, which writes it whole; where it belongs to a copy, "
    "ripplenest adopt STATE VIEW PATH, or ripplenest unpublish STATE VIEW PATH of the state that is to leave it alone; "
    "rows are committed, do not send them again"
)


def codes() -> str:
    """All of them, for ``--help``."""
    return "Exit codes:\n\n" + "\n\n".join(f"{code}: {meaning}." for code, meaning in CODES.items())


@contextmanager
def changing(left: str) -> Iterator[None]:
    """A command that changes a state: an error says what that is afterwards, which is what it was, or what is ``left``.

    Raises typer.Exit, with NOT_PUBLISHED when only a publication failed.
    """
    try:
        yield
    except rn.errors.NotPublished as error:
        said = f"{error.where}: {error.what.partition('published: ')[2] or error.what}"
        more = f"; {error.got}" if error.got is not None else ""
        text = f"version {error.version} is committed; not published: {said}{more}\n  possible {MEND}"
        raise ended(escaped(text), NOT_PUBLISHED) from error
    except rn.RipplenestError as error:
        raise ended(f"{message(error)}\n{left}") from error
