"""A probe of all segments of a table: what is looked up in them, from either side, and compared at once."""

import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY

from ripplenest.data import grouping, index
from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Keys
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import LONG, STRING, nullable
from ripplenest.store import ref
from ripplenest.store.index import filters, indexes, probing
from ripplenest.store.index.indexes import KeyIndex
from ripplenest.store.index.probing import SHORTER, Asked, hits
from ripplenest.store.segments import Reader
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.store import Store

COUNTS: Counter[str] = Counter()
TYPES = (nullable(LONG), STRING)
SPEC = TableSpec("T", TYPES, ((0,), (1, 0)))
UNIT = 1 << 56  # between hashes that differ in what is stored of them


def hashed(c: Choices, values: int) -> list[int]:
    """Each of them, as often as may be; or half of them, each once."""
    if c.one_in(2):
        return [i * UNIT for i in range(values) if c.one_in(2)]
    return sorted(c.number(values) * UNIT for _ in range(c.pick((1, 4, 30))))


@law(examples=many(300, 1000))
def test_hits_are_spans_that_are_not_empty(c: Choices) -> None:
    """Law: hits(index, asked) = the keys for which spans(index) has entries, from whichever side they are looked up."""
    values = c.pick((3, 20, 200))
    asked_for = hashed(c, values)
    few = sorted(c.pick(asked_for[:3]) for _ in range(8)) if asked_for else []
    have, wanted = (np.array(x, np.uint64) for x in (few if c.one_in(2) else hashed(c, values), asked_for))
    known = KeyIndex.of(((have >> np.uint64(32)).astype(np.uint32), None), (0,), 1)
    keys = Keys((0,), Rows.of_counts((LONG,), {(i,): 1 for i in range(len(wanted))}))
    keys.hashes = wanted
    first, end = (0, len(wanted)) if c.one_in(2) else sorted(c.number(len(wanted) + 1) for _ in range(2))
    asked = Asked.of(keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "FEW", c.pick((0, filters.FEW)))
        patch.setattr(indexes, "NEAR", c.pick((0, indexes.NEAR)))
        patch.setattr(indexes, "SPARSE", c.pick((0, indexes.SPARSE)))
        found = list(zip(*(part.tolist() for part in hits(known, asked, first, end)), strict=True))
        possible = known.possible(asked.uppers[first:end])
    COUNTS["filtered"] += bool(found) and possible is not None and len(possible) < end - first
    begin, number = known.spans(wanted[first:end])
    assert found == [(i, int(begin[i]), int(n)) for i, n in enumerate(number) if n]
    COUNTS["several entries"] += any(n > 1 for _, _, n in found)
    from_entries = asked.are_different and end - first > SHORTER * len(have)
    COUNTS["from the entries"] += from_entries and any(n > 1 for _, _, n in found[:-1])
    COUNTS["from the keys"] += bool(found) and not asked.are_different


def told(probe: Callable[..., Any]) -> Callable[..., Any]:
    def probed(*args: Any) -> Any:
        COUNTS["crowded"] += 1
        return probe(*args)

    return probed


def filtered(rows: dict[tuple[object, ...], int], columns: tuple[int, ...], keys: set[tuple[object, ...]]) -> object:
    return {row: n for row, n in rows.items() if tuple(row[i] for i in columns) in keys}


@law(examples=many(25, 150))
def test_a_probe_finds_the_rows_of_its_keys(c: Choices) -> None:
    """Law: probe(keys) = the rows whose key is one of them, and many(key) is at least how many these are; however many
    segments there are, and where all that is stored of hashes agrees for keys that differ."""
    mask, together = np.uint64(c.pick((0, 1, (1 << 64) - 1)) << 33 & (1 << 64) - 1), c.pick((0, 1 << 16))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for user in (index, grouping):
            patch.setattr(user, "hash_columns", lambda columns, rows: hash_columns(columns, rows) & mask)
        patch.setattr(probing, "TOGETHER", together)
        patch.setattr(index, "CROWDED", c.pick((0, 1 << 16)))
        patch.setattr(ref, "PIECE", c.pick((1, 3, 1 << 12)))
        patch.setattr(index, "CROWD", c.pick((0, 8)))
        patch.setattr(Reader, "probe", told(Reader.probe))
        with Store.open(folder) as store:
            held: Counter[tuple[object, ...]] = Counter()
            for _ in range(1 + c.number(5)):
                rows = [(c.pick((None, *range(12))), c.pick(("a", "b"))) for _ in range(c.number(9))]
                pairs = [(row, c.pick((1, 2, -1))) for row in rows]
                for row, n in pairs:
                    held[row] += n
                specs = () if store.version else (SPEC,)
                store.commit(Change({"T": Rows.of_pairs(TYPES, pairs).consolidated()}, specs), store.version)
            held = Counter({row: n for row, n in held.items() if n})
            now = store.snapshot()
            for columns in SPEC.indexes:
                types = tuple(TYPES[i] for i in columns)
                every = [tuple(row[i] for i in columns) for row in [*held, (77, "c")]]
                keys = {key for key in every if c.one_in(2)}
                assert now.probe("T", columns, keys).consolidated().counts() == filtered(held, columns, keys)
                asked = Rows.of_counts(types, dict.fromkeys(every, 1))
                for key, n in zip((row for row, _ in asked.pairs()), now.many("T", columns, asked), strict=True):
                    assert n >= sum(tuple(row[i] for i in columns) == key for row in held)
                most = c.number(1 + len(held))
                some = now.some("T", most).counts()
                assert some.items() <= held.items() and len(some) >= min(most, len(held))
                COUNTS["some"] += most < len(some) < len(held)
                COUNTS["segments"] += len(now.table("T").segments) > 3 and bool(keys)
                COUNTS["collisions"] += int(mask) < 3 << 33 and len(keys) > 2


def test_all_of_it_was_drawn() -> None:
    kinds = (
        "several entries",
        "filtered",
        "from the entries",
        "from the keys",
        "segments",
        "collisions",
        "crowded",
        "some",
    )
    assert not {kind for kind in kinds if COUNTS[kind] < 5}, COUNTS
