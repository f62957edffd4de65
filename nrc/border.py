"""The border between Ripplenest and programs that use it: an error that leaves has the program's own frames, and one of
ours, that of the public name that was called.

Law: the error is the same object with the same message; but one of Python or a library, that memory is not enough, is
told as an OutOfMemory. What goes from its traceback is frames of ours, and those of
libraries below them; frames of the program's own code that we called back stay. ``RIPPLENEST_TRACEBACK=full`` keeps
all. So do errors that are not the program's: whoever mends a defect of ours, which is what LawBroken says, and any
error that is no RipplenestError, must find its place.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from ripplenest.nrc.errors import LawBroken, OutOfMemory, RipplenestError, of_memory

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

VARIABLE = "RIPPLENEST_TRACEBACK"
SPECIAL = (  # what programs call without a name
    "__call__", "__enter__", "__exit__", "__getattr__", "__getitem__", "__setattr__", "__setitem__", "__delattr__",
    "__delitem__",
)  # fmt: skip
_OURS = __name__.partition(".")[0]
_FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib")
_LIBRARIES = tuple(os.path.join(sysconfig.get_path(name), "") for name in _FOLDERS)


class Border:
    """``with Border():`` in a public function: errors leave as the law says, with the line of the ``with`` block."""

    def __enter__(self) -> None:
        self._handled = sys.exception()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours, is_full = isinstance(error, RipplenestError), os.environ.get(VARIABLE) == "full"
        if error is not None and trace is not None and not ours and (told := _of_memory(error, trace)) is not None:
            raise told from (error if is_full else None)
        if error is None or trace is None or not ours or isinstance(error, LawBroken) or is_full:
            return
        _last_of_user(trace).tb_next = None
        error.__cause__ = None  # and it is not printed; ``__context__`` has it
        if self._handled is not None:  # the program was handling that when it called us, and is told so
            error.__context__, error.__suppress_context__ = self._handled, False


def bordered(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` with a border around it, under its own name in tracebacks."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with Border():
            return function(*args, **kwargs)  # RIPPLENEST_TRACEBACK=full shows what is below

    assert isinstance(call, FunctionType)
    call.__code__ = call.__code__.replace(co_name=function.__name__, co_qualname=function.__qualname__)
    return call


def public(cls: type[C]) -> type[C]:
    """``cls`` with a border around each method and property that programs use."""
    for name, member in list(vars(cls).items()):
        if name in SPECIAL or not name.startswith("_"):
            if isinstance(member, FunctionType):
                setattr(cls, name, bordered(member))
            elif isinstance(member, property) and isinstance(member.fget, FunctionType):
                setattr(cls, name, member.getter(bordered(member.fget)))
    return cls


def _of_memory(error: BaseException, trace: TracebackType) -> OutOfMemory | None:
    """What is said of too little memory, unless it was the program's own code that asked for it."""
    *_, last = _entries(trace)
    return of_memory(error) if _hidden(last) else None


def _last_of_user(trace: TracebackType) -> TracebackType:
    """The last entry that stays: what the user's code, if any was called back from here, called in turn."""
    entries = list(_entries(trace))
    users = [i for i, entry in enumerate(entries) if not _hidden(entry)]
    return entries[min(users[-1] + 1, len(entries) - 1)] if users else trace


def _entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _hidden(entry: TracebackType) -> bool:
    """Whether the frame is ours, or of an installed library."""
    frame = entry.tb_frame
    module: Any = frame.f_globals.get("__name__", "")
    ours = str(module).partition(".")[0] == _OURS
    return ours or frame.f_code.co_filename.startswith((*_LIBRARIES, "<frozen ", "<attrs generated"))
