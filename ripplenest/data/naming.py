"""Names of what is stored: the numbers of rows that have no key, and the digests of what is known by its content.

Rows that come in one batch are numbered in their own order, so that labels do not depend on the order in which they
came; no two rows of a state have one number, because no two batches make one version.
"""

import hashlib
import json
from collections.abc import Sequence

from ripplenest.nrc.bags import BagValue, LabelValue, Value
from ripplenest.nrc.errors import WrongValue
from ripplenest.nrc.printing.shown import sort_key
from ripplenest.shred.places import Place

DIGEST_BYTES = 16


def digest(*parts: object) -> str:
    """32 hex digits that identify the parts."""
    return hashlib.blake2b(canonical_text(parts).encode(), digest_size=DIGEST_BYTES).hexdigest()


def canonical_text(value: object) -> str:
    """Text that is equal for equal values, whatever the order of rows in bags.

    Of values without their types, because digests are also of paths, counts and whole batches, and one way only; so it
    is not the text of ``data/texts.py``, which is read back. Batches and published rows are known by their digests:
    what this writes may not change.
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


PLACES = 1 << 32  # in one version: the first half for rows of dictionaries, the second for those below arrays


class Numbers:
    """Numbers of rows without a key, from ``start`` on (a ``Namer`` of ``shred/values.py``)."""

    def __init__(self, start: int, end: int | None = None) -> None:
        self.next, self.end = start, end

    def numbers(self, _place: Place, _outer: tuple[Value, ...], rows: Sequence[Value]) -> range:
        """One for each of ``rows``."""
        return self.take(len(rows))

    def take(self, many: int) -> range:
        """As many that were not given out."""
        found = range(self.next, self.next + many)
        if self.end is not None and found.stop > self.end:
            raise WrongValue("too many rows with inner bags in one batch", wanted=f"at most {PLACES // 2}")
        self.next = found.stop
        return found


def row_numbers(version: int) -> Numbers:
    """Of rows that come in ``version``."""
    return Numbers(version * PLACES, version * PLACES + PLACES // 2)


def array_numbers(version: int) -> Numbers:
    """Of rows below arrays that come in ``version``."""
    return Numbers(version * PLACES + PLACES // 2, (version + 1) * PLACES)
