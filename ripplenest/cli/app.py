"""The application without its commands: exit codes, and errors as messages without a traceback.

``codes`` says what exit codes mean. With ``--json``, stdout has one JSON object and nothing else.
"""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import ripplenest as rn
from ripplenest.cli.codes import PIPE_CLOSED, codes
from ripplenest.cli.output import ended, escaped, message

UsageError: Any = typer.BadParameter.__mro__[1]  # typer has no name of its own for it


class Group(TyperGroup):
    """Runs a command; what goes wrong becomes a message and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """As of any program; when the reader of stdout has gone, it ends quietly with ``PIPE_CLOSED``."""
        streams = sys.stdout, sys.stderr  # typer replaces them when a pipe is closed
        try:
            try:
                return super().main(*args, **extra)
            finally:
                _flush()
        except (SystemExit, BrokenPipeError) as end:
            if not _by_closed_pipe(end):
                raise
        sys.stdout, sys.stderr = streams
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        sys.exit(PIPE_CLOSED)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of ours ends it with exit code 2."""
        try:
            return super().invoke(ctx)
        except rn.RipplenestError as error:
            raise ended(message(error)) from error
        except UsageError as error:
            said = error.message.removeprefix("Value error, ")  # pydantic's, of typers that use it
            error.message = escaped(said)
            raise


def _flush() -> None:
    if sys.stdout is not None:  # closed by the shell
        sys.stdout.flush()


def _by_closed_pipe(end: BaseException) -> bool:
    """Whether a pipe that nobody reads ended the program: typer and rich make an exit with code 1 of it."""
    return isinstance(end, BrokenPipeError) or isinstance(end.__context__, BrokenPipeError)


app = typer.Typer(
    cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Nested views on Spark that are kept fresh in the size of the change.", epilog=codes(),
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        print(rn.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """What comes before a command."""
