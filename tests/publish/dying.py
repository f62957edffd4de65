"""A publisher that dies at a chosen step: before or after each call of deltalake that writes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import deltalake
import pytest
from deltalake.table import TableMerger, TableOptimizer
from publish.tables import published, target

import ripplenest as rn

WRITERS = (
    (deltalake, "write_deltalake"),
    (TableMerger, "execute"),
    (deltalake.DeltaTable, "create_write_transaction"),
    (TableOptimizer, "compact"),
)


@contextmanager
def dying(step: int, die: Callable[[], Any]) -> Iterator[list[str]]:
    """``die`` is called at ``step``: 0 before the first writing call, 1 after it, and so on. Gives the names of the
    calls that were begun."""
    begun: list[str] = []

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            place = 2 * len(begun)
            begun.append(name)
            if step == place:
                die()
            result = real(*args, **more)
            if step == place + 1:
                die()
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in WRITERS:
            patch.setattr(owner, name, wrapped(name, getattr(owner, name)))
        yield begun


def publish_and_die(state: str, view: str, path: str, layout: str, step: int) -> None:
    """What a process of its own does; it ends with 9 when it died, else with 0. ``step`` -1: whoever started it kills
    it some time."""
    with dying(step, lambda: os._exit(9)), rn.open(state, engine="local") as db:
        published(db, target(view, path, layout))
