"""Views that are compiled once, where compiling takes longer than what is tested."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from attrs import evolve

from ripplenest.state import views

_compile = cache(views.compile_view)  # for a whole run: the same views are made by many tests


def forget() -> None:
    """Compile every view again, as a process does that has just begun."""
    views._stages.cache_clear()
    views._programs.clear()


@contextmanager
def compiled_once() -> Iterator[None]:
    """Views are compiled once, whatever sizes their relations have. Hold it no longer than the tests of a module: those
    after it want plans of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "compile_view", lambda query, options: _compile(query, evolve(options, rows=())))
        yield
