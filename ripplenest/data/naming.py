"""Names of places: which label an inner bag of an input row gets.

With a key, the label of an inner bag is ⟨path, key⟩. Otherwise, and for the rows of inner bags, it is made of the
place above, the batch, the row's content and its occurrence number among equal rows of the batch: a retried batch
makes the same labels, whatever the order of its rows, and no two places share one.
"""

import hashlib
import json
from collections import Counter

from attrs import field, frozen

from ripplenest.nrc.bags import BagValue, LabelValue, Value
from ripplenest.nrc.values import sort_key


def digest(*parts: object) -> str:
    """32 hex digits that identify the parts."""
    return hashlib.blake2b(canonical_text(parts).encode(), digest_size=16).hexdigest()


def canonical_text(value: object) -> str:
    """Text that is equal for equal values, whatever the order of rows in bags.

    Of values without their types, because digests are also of paths, counts and whole batches, and one way only; so it
    is not the text of ``data/texts.py``, which is read back. Stored places and batches are known by their digests: what
    this writes may not change.
    """
    return json.dumps(_plain(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _plain(value: Value) -> object:
    match value:
        case BagValue(counts):
            rows = sorted(counts.items(), key=lambda pair: sort_key(pair[0]))
            return {"bag": [[_plain(row), n] for row, n in rows]}
        case LabelValue(site, args):
            return {"label": [site, *map(_plain, args)]}
        case tuple() | list():
            return [_plain(v) for v in value]
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": value.hex()}
        case bytes():
            return {"bytes": value.hex()}
        case _:
            return {type(value).__name__: str(value)}


@frozen
class BatchNames:
    """Names places for one batch (a ``Namer`` of ``shred/values.py``)."""

    batch: tuple[str, int]
    _seen: Counter[str] = field(factory=Counter)

    def place(self, path: str, identity: str) -> str:
        """The id of the bag at ``path`` of the row ``identity``."""
        return digest(path, identity)

    def row(self, path: str, place: str, value: Value) -> str:
        """The identity of a row: its place, this batch, its content and which of equal ones it is."""
        content = digest(path, place, self.batch, value)
        self._seen[content] += 1
        return digest(content, self._seen[content])

    def keyed(self, relation: str, key: tuple[object, ...]) -> str:
        """The identity of a row of a relation with a key."""
        return digest(relation, key)
