"""Views that nobody has asked to compile. What the state says of them is enough to read their rows: whichever release
made their maps, they are right for the version that has them, unless batches have left them behind."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import evolve, frozen

from ripplenest.nrc.reserved import is_shared
from ripplenest.schema.relation import Relation
from ripplenest.schema.shape import OutputShape, found_by
from ripplenest.state.stored import StoredView, read, shape_of_stored


@frozen(slots=False)
class Unread:
    """The view ``name`` as the state declares it; ``behind`` is the last version that it shows, None for all."""

    name: str
    text: str
    behind: int | None

    @cached_property
    def stored(self) -> StoredView:
        """Raises CorruptState for what is no declaration."""
        return read(f"view:{self.name}", self.text, StoredView)

    @cached_property
    def own(self) -> frozenset[str]:
        """Its maps, without those that views share."""
        return frozenset(m for m in self.stored.maps if not is_shared(m))

    def shape(self, relations: Iterable[Relation]) -> OutputShape | None:
        """What it shows of ``relations``, which are all that there are; None where an earlier release did not say all
        of it."""
        stored = self.stored.shape
        if stored is None or stored.signed is None:
            return None
        found = shape_of_stored(self.name, self.stored.program, stored)
        by = {site: columns for r in relations for site, columns in found_by(r).items()}
        return evolve(found, found_by=by)


@frozen
class Readable:
    """What a view shows, up to version ``behind`` if that is one."""

    shape: OutputShape
    behind: int | None

    def shows(self, shape: OutputShape, version: int) -> bool:
        """Whether that is ``shape``, at ``version``."""
        return shape == self.shape and (self.behind is None or version <= self.behind)


def readable(name: str, unread: Mapping[str, Unread], relations: Mapping[str, Relation]) -> Readable | None:
    """What the view shows; None where the state does not say it, or has something else under the name of one of its
    maps, as no state can since names are reserved."""
    found = unread[name]
    taken = {part for r in relations.values() for part in r.parts}
    taken.update(*(other.own for other in unread.values() if other is not found))
    shape = found.shape(relations.values())
    return Readable(shape, found.behind) if shape is not None and taken.isdisjoint(found.own) else None
