"""The command line tool: ``ripplenest demo``, ``explain``, ``check``, ``show`` and ``changes``.

Exit codes: 0 all is well; 1 a comparison of the demo failed; 2 an error of ours or of the command line, which is on stderr.
"""

import importlib.metadata
import importlib.util
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import click
import typer
from rich.console import Console
from typer.core import TyperGroup

import ripplenest as rn
from ripplenest.demo import main as demo_main


class Group(TyperGroup):
    """Errors of ours are messages, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except rn.RipplenestError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Nested views on Spark that are kept fresh in the size of the change.",
)  # fmt: skip
