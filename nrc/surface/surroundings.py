"""The names around a decorated class or function, for annotations that are strings: these do not close over names.

Frames are held until the names are known, so that a name may be defined after its first mention; then only the names
that are needed stay.
"""

import sys
from collections import ChainMap
from collections.abc import Collection, Mapping
from types import FrameType

Namespace = Mapping[str, object]


class Surroundings:
    """The scopes of the caller ``depth`` frames up: its locals, those of the functions around it, its globals."""

    def __init__(self, depth: int) -> None:
        frame: FrameType | None = sys._getframe(depth)
        assert frame is not None
        self._globals: Namespace = frame.f_globals
        self._kept: Namespace = {}
        self._frames: list[FrameType] = []
        inner = frame
        while frame is not None:
            around = frame is inner or inner.f_code.co_qualname.startswith(f"{frame.f_code.co_qualname}.")
            if around and frame.f_code.co_filename == inner.f_code.co_filename and frame.f_locals is not self._globals:
                self._frames.append(frame)
            frame = frame.f_back

    def names(self) -> dict[str, object]:
        """What is visible, innermost first, as of this moment."""
        scopes = [dict(frame.f_locals) for frame in self._frames]
        return dict(ChainMap(*scopes, dict(self._kept), dict(self._globals)))

    def keep(self, needed: Collection[str]) -> None:
        """Lets go of the frames and of all local names but ``needed``."""
        local = ChainMap(*(dict(frame.f_locals) for frame in self._frames), dict(self._kept))
        self._kept = {name: local[name] for name in needed if name in local}
        self._frames = []
