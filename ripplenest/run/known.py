"""What is found once for all who ask the same: for a level, or for the batch if it is little."""

from collections.abc import Callable, Hashable, Sized
from typing import Any, TypeVar

from attrs import field, frozen

from ripplenest.data.rows import KEPT

Found = TypeVar("Found")


@frozen
class Known:
    """By what was asked, what was found. Rows are told apart by who they are, so each answer is kept with what its
    question has the id of."""

    _known: dict[Hashable, tuple[object, Any]] = field(factory=dict)
    _lasting: set[Hashable] = field(factory=set)

    def __contains__(self, asked: Hashable) -> bool:
        return asked in self._known

    def once(self, asked: Hashable, keeps: object, read: Callable[[], Found], lasts: bool = False) -> Found:
        """What ``read`` gives, the same for all of a level who ask so, or of the batch if it ``lasts`` and is not much;
        ``keeps`` is what ``asked`` has the id of."""
        if asked not in self._known:
            self.keep(asked, keeps, read(), lasts)
        found: Found = self._known[asked][1]
        return found

    def keep(self, asked: Hashable, keeps: object, found: object, lasts: bool = False) -> None:
        """From now on know the answer."""
        self._known[asked] = (keeps, found)
        if lasts and not any(len(some) > KEPT for some in (keeps, found) if isinstance(some, Sized)):
            self._lasting.add(asked)

    def found(self, asked: Hashable) -> Any:
        """The answer, which is known."""
        return self._known[asked][1]

    def next_level(self) -> None:
        """Forget what does not last."""
        for asked in self._known.keys() - self._lasting:
            del self._known[asked]
