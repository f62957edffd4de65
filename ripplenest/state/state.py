"""The state as a process sees it: a version of the store together with what that version declares."""

import contextlib
import json
from collections.abc import Mapping

from attrs import field, frozen

from ripplenest.nrc.arguments import moment
from ripplenest.nrc.errors import Stale, StateError
from ripplenest.state.declared import Declared
from ripplenest.store.specs import Change
from ripplenest.store.store import Store
from ripplenest.version.folding import Unfolding
from ripplenest.version.overlay import Overlay
from ripplenest.version.version import AccessKeys, AsOf

NO_META: Mapping[str, str] = {}
ROLLBACKS = "rollbacks"  # meta key: a list of [version of the rollback, version that it went back to]


@frozen
class State:
    """A store, and the relations and views that it declares, which other objects may add to."""

    store: Store
    declared: Declared = field(factory=Declared)

    def snapshot(self, as_of: AsOf | None = None) -> Unfolding:
        """The newest version with everything that it declares known, or an older one.

        What is known is never less than what the snapshot declares: a batch must keep every view fresh. Raises
        StateError for a version that is not kept, or a batch that was not applied.
        """
        version = self.version_of(as_of)
        found = self.store.snapshot(version)
        self.declared.read(found.meta)
        return Unfolding(found, self.declared.folds)

    def refresh(self) -> int:
        """Read what was declared since, here or by another object; the version that declares it."""
        return self.snapshot().version

    def version_of(self, as_of: AsOf | None) -> int | None:
        """The version that ``as_of`` means; None for the newest. Raises StateError."""
        if as_of is None:
            return None
        match moment(as_of, "as_of"):
            case (source, seq):
                applied = self.store.applied(source, seq)
                if applied is None:
                    raise StateError("no such batch was applied", where=str(self.store.path), got=f"{source}:{seq}")
                return applied.version
            case version:
                return version

    def overlay(self, snapshot: Unfolding) -> Overlay:
        """``snapshot`` for operations to read and to change."""
        types = {p.name: p.types for r in self.declared.relations.values() for p in r.parts.values()}
        return Overlay(snapshot, types)

    def commit(self, change: Change, parent: int) -> int:
        """``parent`` is the version that the change was computed from; raises Stale when there is another by now."""
        return self.store.commit(change, parent)

    def note(self, change: Change) -> int:
        """Commit a change that no rows went into, on top of whatever is the newest version."""
        while True:
            with contextlib.suppress(Stale):
                return self.store.commit(change, self.store.version)

    def index(
        self, keys: AccessKeys, note: Mapping[str, object], meta: Mapping[str, str] = NO_META
    ) -> None:
        """Give stored tables those of the access ``keys`` that they do not have."""
        known = self.snapshot().access_keys
        self.note(Change(indexes={t: found for t, found in keys.items() if t in known}, meta=meta, note=note))

    def rollbacks(self) -> list[list[int]]:
        """The rollbacks so far: [their version, the version that they went back to]."""
        found: list[list[int]] = json.loads(self.store.all_meta().get(ROLLBACKS, "[]"))
        return found

    def in_force(self, version: int) -> bool:
        """Whether what ``version`` did is part of the newest version, or was rolled back.

        The newest version has what came after the last rollback, and what the version that this went back to has.
        """
        upto = self.store.version
        for at, to in reversed(self.rollbacks()):
            if at <= upto:
                if version > at:
                    break
                upto = to
        return version <= upto
