"""Views that are published: which, where, and how they follow the versions of the state.

A publication comes after the commit and is repeated without harm: each table knows the version that it shows. What a
process that died did not publish is published by the next one that opens the state, or by the next batch.
"""

import os
from collections.abc import Mapping

from attrs import frozen

from ripplenest.data.naming import digest
from ripplenest.errors import NotPublished
from ripplenest.nrc.arguments import one_of
from ripplenest.nrc.errors import RipplenestError, StateError, UnknownView
from ripplenest.publish import Published, Target, check_target, look, publish
from ripplenest.reading.touched import wanted_keys
from ripplenest.state.notes import QUIET, meta_key, named, note
from ripplenest.state.state import State
from ripplenest.state.views import Kept
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Change
from ripplenest.version.folding import Unfolding


@frozen
class Publications:
    """The publications of one state."""

    state: State

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is published, in the order of views and paths."""
        return _targets(self.state.store.all_meta())

    def check_unpublished(self, name: str, what: str) -> None:
        """``name`` is published nowhere. Raises StateError."""
        paths = [target.path for target in self.targets if target.view == name]
        if paths:
            possible = [f"unpublish({name!r}, {path!r}) first" for path in paths]
            raise StateError("the view is published", where=f"{what} {name}", got=paths, possible=possible)

    def check_fits(self, view: Kept) -> None:
        """``view`` can be where the view of its name is published. Raises QueryError."""
        for target in self.targets:
            if target.view == view.name:
                check_target(view.shape, target)

    def add(self, view: str, path: str | os.PathLike[str], layout: str, rebuild: bool, adopt: bool) -> Published:
        """Publish ``view`` now and after every batch. Raises StateError when something else is there, and what
        ``publish`` raises; then it is published no more often than before."""
        snapshot = self.state.snapshot()
        declared = self.state.declared
        if isinstance(view, str) and view in declared.relations:
            possible = [f"a view of its rows, `[r for r in {view}]`"]
            raise UnknownView("views are published, and this is a relation", got=view, possible=possible)
        one_of(view, [v.name for v in declared.every], "there is no such view", error=UnknownView)
        if view in declared.waiting:
            what = "the view waits to be rebuilt"
            raise StateError(what, where=f"publish {view}", got=declared.waiting[view].why, possible=["rebuild"])
        target = Target.of(view, path, layout)
        for other in self.targets:
            if other != target and _meet(other.path, target.path):
                shown = [f"{t.view}, {t.layout}, at {t.path}" for t in (other, target)]
                raise StateError("something else is published there", where=target.path, wanted=shown[0], got=shown[1])
        if _meet(str(self.state.store.path), target.path):
            what = "a table and the state cannot lie in each other: whoever tidies one up removes the other"
            raise StateError(what, where=target.path, got=self.state.store.path, possible=["a folder beside the state"])
        shape = declared.views[view].shape
        known = target in self.targets
        store = self.state.store
        there = look(shape, snapshot, target, self._app_id(view), store.state_of, rebuild, store.place, adopt)
        if adopt and all(n is None for n in there):
            what, possible = "there is no table to adopt", ["publish without adopt", "the path of a table"]
            raise StateError(what, where=f"view {view} at {target.path}", possible=possible)
        if not known:
            said, meta = note("publish", name=view), {_key(target): target.to_json()}
            self.state.index(wanted_keys(shape), said, meta)
        try:
            return self._publish(target, self.state.store.snapshot(), rebuild, adopt)
        except BaseException:
            if not known:
                self._forget(target)
            raise

    def remove(self, view: str, path: str | os.PathLike[str]) -> None:
        """Publish ``view`` there no longer; its tables stay as they are. Raises StateError when it is not published."""
        wanted = Target.of(view, path)
        found = next((t for t in self.targets if (t.view, t.path) == (view, wanted.path)), None)
        if found is None:
            possible = [f"{t.view} at {t.path}" for t in self.targets]
            raise StateError("no such publication", where=f"view {view}", got=wanted.path, possible=possible)
        self._forget(found)

    def _forget(self, target: Target) -> None:
        change = Change(meta={_key(target): None}, note=note("unpublish", name=target.view))
        self.state.note(change)

    def catch_up(self, found: Snapshot | None = None) -> tuple[Published, ...]:
        """Bring every publication to the version ``found``, the newest without it, or leave it at a later one. Raises
        NotPublished for those that cannot be; the state itself is as it was, and the others are published. The tables
        of views that wait to be rebuilt wait with them."""
        snapshot = self.state.store.snapshot() if found is None else found
        self.state.declared.read(snapshot.meta)
        targets = [t for t in _targets(snapshot.meta) if t.view not in self.state.declared.waiting]
        made, failed = [], {}
        for target in targets:
            try:
                made.append(self._publish(target, snapshot))
            except (RipplenestError, OSError) as error:
                failed[f"{target.view} at {target.path}"] = error
        if failed:
            raise _not_published(snapshot.version, failed)
        return tuple(made)

    def behind(self) -> tuple[str, ...]:
        """What is not published of the newest version, one text for each reason. Tables are looked at and not changed;
        those of views that wait to be rebuilt wait with them."""
        snapshot, found = self.state.snapshot(), dict[str, str]()
        for target in self.targets:
            why = self._why_behind(target, snapshot)
            if why:
                found[f"{target.view} at {target.path}"] = f"version {snapshot.version} {why}"
        return tuple(f"{', '.join(names)}: {why}" for why, names in _by_reason(found).items())

    def _why_behind(self, target: Target, snapshot: Unfolding) -> str:
        """Why the newest version is not published there; empty when it is."""
        store, place = self.state.store, self.state.store.place
        if target.view in self.state.declared.waiting:
            return "is not published: the view waits to be rebuilt"
        shape = self.state.declared.views[target.view].shape
        try:
            shown = look(shape, snapshot, target, self._app_id(target.view), store.state_of, False, place)
        except (RipplenestError, OSError) as error:
            return f"could not be published: {_line(error)}"
        there = [n for n in shown if n is not None]
        if len(there) < len(shown):
            return "is not published: there is no table"
        return "" if self._is_same(min(there)) else f"is not published: the table shows version {min(there)}"

    def _is_same(self, version: int) -> bool:
        """Whether what came behind ``version`` changed no row."""
        now = self.state.store.snapshot()
        return version >= now.oldest and all(
            now.note(v).get("kind") in QUIET for v in range(now.version, version, -1)
        )

    def _publish(
        self, target: Target, snapshot: Snapshot, rebuild: bool = False, adopt: bool = False
    ) -> Published:
        tables, app_id, oldest = self.state.read(snapshot), self._app_id(target.view), snapshot.oldest
        shape, place = self.state.declared.views[target.view].shape, self.state.store.place
        return publish(shape, tables, target, app_id, oldest, rebuild, snapshot.state_of, place, adopt)

    def _app_id(self, view: str) -> str:
        """What Delta tables call this state and the view, for ever."""
        return f"ripplenest-{self.state.store.identity}-{digest(view)[:16]}"


def _targets(meta: Mapping[str, str]) -> tuple[Target, ...]:
    found = map(Target.from_json, named(meta, "publish").values())
    return tuple(sorted(found, key=lambda t: (t.view, t.path)))


def _meet(one: str, other: str) -> bool:
    """Whether two paths are one, or one is inside the other."""
    a, b = (f"{path.rstrip('/')}/" for path in (one, other))
    return a.startswith(b) or b.startswith(a)


def _key(target: Target) -> str:
    return meta_key("publish", digest(target.view, target.path))


def _not_published(version: int, failed: Mapping[str, Exception]) -> NotPublished:
    (line, (first, *same)), *others = _by_reason({where: _line(e) for where, e in failed.items()}).items()
    said = [*([f"the same of {', '.join(same)}"] if same else ()), *(f"{', '.join(at)}: {why}" for why, at in others)]
    what = f"version {version} is committed, but could not be published: {line}"
    helps = dict.fromkeys(p for e in failed.values() if isinstance(e, RipplenestError) for p in e.possible or ())
    possible = [*helps] or ["catch_up()", "the next batch", "opening the state again"]
    return NotPublished(what, where=first, got="; ".join(said) or None, possible=possible, version=version)


def _by_reason(found: Mapping[str, str]) -> dict[str, list[str]]:
    """By what is wrong, of what it is: several tables often share it."""
    return {why: [name for name, other in found.items() if other == why] for why in dict.fromkeys(found.values())}


def _line(error: Exception) -> str:
    """What ``error`` says, without what was possible."""
    if not isinstance(error, RipplenestError):
        return str(error)
    parts = {"": error.what, "wanted ": error.wanted, "got ": error.got}
    return ", ".join(f"{name}{part}" for name, part in parts.items() if part is not None)
