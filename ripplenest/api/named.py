"""Names that programs look for, and that are others here: the error says what there is."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from ripplenest.errors import UnknownMember
from ripplenest.nrc.border import public

BATCHES = 'with db.batch() as b: b.{}("...", ...)'
WRITES = ("insert", "upsert", "update", "delete", "delete_key", "discard_key", "at", "at_all", "set")
CHANGES = {verb: BATCHES.format({"update": "upsert"}.get(verb, verb)) for verb in WRITES if verb != "set"}
SET = 'b.at("...", key=...).set(field=...)'


@public
class Named:
    """What has public names. ``_instead``: what programs write for something that is called otherwise."""

    _instead: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> object:
            cls = type(self)
            if name.startswith("_") or hasattr(cls, name):
                raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
            names = [n for n in dir(cls) if not n.startswith("_")]
            possible = [cls._instead[name]] if name in cls._instead else get_close_matches(name, names) or names
            raise UnknownMember(f"a {cls.__name__} has no such name", got=name, possible=possible)
