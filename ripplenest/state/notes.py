"""What is written down with a version: the note that says what made it, and the meta values that say what is declared.

Both are text of the store's. Here is every kind of the one and every key of the other, and nowhere else.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal[
    "relation", "load", "create", "batch", "rollback", "track", "publish", "unpublish", "compact",
    "rebuild", "replace", "drop", "alter", "index",
]  # fmt: skip
# Versions of these kinds have the rows that were there before.
QUIET: frozenset[Kind] = frozenset({"relation", "create", "drop", "track", "publish", "unpublish", "compact", "index"})
# relation, view: how it is declared. unfolded: a relation's bags that are arrays no longer. behind: the last version
# that a waiting view shows. past: what a view showed before it was dropped or defined anew. was: how a relation was
# declared until it was dropped. publish: a target.
Key = Literal["relation", "view", "unfolded", "behind", "past", "was", "publish"]
LOADS = "load:"  # with the relation's name: the source of its load
ROLLBACKS = "rollbacks"  # the one key without a name: a list of [version of the rollback, version that it went back to]


def note(kind: Kind, **facts: object) -> Mapping[str, object]:
    """What made a version."""
    return {"kind": kind, **facts}


def meta_key(key: Key, name: str) -> str:
    """Where the meta value of ``name`` is."""
    return f"{key}:{name}"


def named(meta: Mapping[str, str], key: Key) -> dict[str, str]:
    """The values of all names under ``key``, in the order of names; empty ones are none."""
    prefix = meta_key(key, "")
    return {k.removeprefix(prefix): v for k, v in sorted(meta.items()) if k.startswith(prefix) and v}


def rollbacks(meta: Mapping[str, str]) -> list[list[int]]:
    """The rollbacks so far: [their version, the version that they went back to]."""
    found: Any = json.loads(meta.get(ROLLBACKS, "[]"))
    return [[int(at), int(to)] for at, to in found]
