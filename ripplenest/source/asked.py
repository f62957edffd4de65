"""The options of a reader: what they say, checked all at once, and what that is in the state."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from attrs import frozen

from ripplenest.nrc.arguments import local_path, one_of
from ripplenest.nrc.errors import UnknownName, WrongValue
from ripplenest.source.pinned import Layout, Pinned, pinned
from ripplenest.state.state import State
from ripplenest.store.folder import is_state
from ripplenest.store.store import Store
from ripplenest.version.version import AsOf

CATALOGUE = "RIPPLENEST_CATALOGUE"
WHERE = "ripplenest"
START = -1  # the version after which everything came
KNOWN = ("path", "view", "relation", "layout", "site", "asOf", "since", "catalogue")


@frozen
class Asked:
    """What is to be read. Spark keeps options without regard to case, and so do we."""

    path: str
    name: str
    layout: Layout = "nested"
    site: str = ""
    as_of: AsOf | None = None
    since: int | None = None
    catalogue: str | None = None

    @staticmethod
    def of(options: Mapping[str, str]) -> "Asked":
        """Raises UnknownName for an option that there is not, and WrongValue for one that says nothing."""
        lower = {name.lower(): name for name in KNOWN}
        if unknown := [name for name in options if name.lower() not in lower]:
            raise UnknownName("there is no such option", where=WHERE, got=unknown[0], possible=KNOWN)
        found = {lower[name.lower()]: value for name, value in options.items()}
        if len(named := [found[o] for o in ("view", "relation") if o in found]) != 1:
            raise WrongValue("what is to be read", where=WHERE, wanted="the option view or relation", got=sorted(found))
        if "path" not in found:
            raise WrongValue("which state is to be read", where=WHERE, wanted="load(path)", got=sorted(found))
        layout, site = found.get("layout", "nested"), found.get("site", "")
        one_of(layout, get_args(Layout), "there is no such layout", f"{WHERE}: layout")
        if ("site" in found) != (layout == "dictionary"):
            raise WrongValue("a dictionary is that of a site", where=f"{WHERE}: layout, site", got=f"{layout}, {site}")
        path = str(local_path(found["path"], f"{WHERE}: path"))
        since = _since(found.get("since"))
        return Asked(path, named[0], layout, site, _as_of(found.get("asOf")), since, found.get("catalogue"))  # type: ignore[arg-type]

    def pinned(self) -> Pinned:
        """What there is to read. Raises UnknownName, StateError, CorruptState."""
        with self.store() as store:
            state = State(store)
            shown = state.either(self.name, self.as_of)
            since = None if self.since == START else self.since
            if since is not None:
                state.check_then(self.name, since)
            return pinned(shown, self.path, self.layout, self.site, since, self.since is not None)

    def store(self) -> Store:
        """The state, which is not made where there is none."""
        if not is_state(Path(self.path)):
            raise WrongValue("there is no state", where=WHERE, wanted="the folder of a state", got=self.path)
        return Store.open(self.path, catalogue=self.catalogue or os.environ.get(CATALOGUE))


def _as_of(said: str | None) -> AsOf | None:
    """A version, or source:seq."""
    if said is None:
        return None
    source, colon, seq = said.rpartition(":")
    return (source, _number(seq, "asOf")) if colon else _number(said, "asOf")


def _since(said: str | None) -> int | None:
    """A version; START for the word."""
    if said is None:
        return None
    found = START if said == "start" else _number(said, "since")
    if found < 0 and said != "start":
        raise WrongValue("not a version", where=f"{WHERE}: since", wanted="0 or later, or start", got=said)
    return found


def _number(said: str, option: str) -> int:
    try:
        return int(said)
    except ValueError:
        raise WrongValue("not a number", where=f"{WHERE}: {option}", wanted="a version", got=said) from None
