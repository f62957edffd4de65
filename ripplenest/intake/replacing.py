"""What rows that several processes have shredded (``share.py``) do to stored ones: an upsert, a delete by keys, and a
delete, a range of hashes at a time.

Theory of operation. The runs have rows, or keys, in the order in which stored rows are found. So a range meets what is
stored of its keys alone, and says how that changes: what comes, and ⊖ what is there. Summed, what is equal in both is
no change. What is in bags of rows that go is left as runs of its part, and what comes into bags is in runs already, so
a part of inner bags changes by the latter without the former, again by ranges of hashes (``Range.minus``). Labels are
made of keys where this is done, so equal bags have equal labels, whoever made them; rows that hold bags and are known
by numbers would have to be compared with those of the document that they come in place of. A document that is to go
is the stored one if what comes of it without what is stored is nothing, in each part.

Law: the change is that of ``columns.py``, and the faults are those of ``session.py``; where a document is not there,
``session.py`` says which.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product

import numpy as np
from attrs import evolve, field, frozen

from ripplenest.data.columnar import among, places_in
from ripplenest.data.hashing import U64
from ripplenest.data.index import Keys, Places
from ripplenest.data.levels import Mask
from ripplenest.data.naming import Numbers
from ripplenest.data.room import FEWEST, Room
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.intake.columns import ColumnChanges
from ripplenest.intake.faults import numbered
from ripplenest.intake.operations import Verb
from ripplenest.intake.session import key_missing, row_missing
from ripplenest.intake.settling import NumberedKeys, Settled, numbers_of, unnumbered
from ripplenest.intake.share import Loading
from ripplenest.nrc.errors import LawBroken
from ripplenest.schema.relation import Relation
from ripplenest.store.detached import Detached
from ripplenest.store.disk import Disk
from ripplenest.store.ranges import Range, Unwritten, gathered, ordered, settled, windows, written
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.specs import TableSpec


def is_replaced(r: Relation, verb: Verb) -> bool:
    """Whether rows of ``r`` can be worked on so."""
    holders = [part for part in r.parts.values() if part.held]
    return (verb == "delete" and not holders) or all(r.rows_of(part).key for part in holders)


def replace(work: Loading, piece: Range, reader: Reader, disk: Disk, room: Room) -> Settled:
    """Write how the stored rows of a range change, and what was in their bags."""
    spec = work.specs[work.relation.name]
    found = _Replaced(work, piece, disk, room)
    changes = found.changes(windows(piece.source, reader, piece.low, piece.high, room))
    rows, keys = gathered(spec.types, changes, room), found.keys
    if keys.again or keys.there:
        return Settled(None, keys.again, keys.there)
    made = settled(evolve(piece, source=evolve(piece.source, spec=spec)), rows, disk, room)
    return Settled(made, old={part: tuple(runs) for part, runs in found.old.items()})


@frozen
class _Replaced:
    """Numbered rows that pass by in the order of their hashes, and what becomes of stored ones; ``old`` are the runs of
    what was in bags."""

    work: Loading
    piece: Range
    disk: Disk
    room: Room
    old: dict[str, list[Segment]] = field(factory=dict, init=False)
    keys: NumberedKeys = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "keys", NumberedKeys(self.work, self.piece.source.spec))

    @property
    def _before(self) -> Detached:
        assert self.work.before is not None
        return self.work.before

    def changes(self, found: Iterable[tuple[U64, Rows]]) -> Iterator[tuple[U64, Rows]]:
        """How the relation's own rows change, in the order of their hashes."""
        for hashes, rows in self._cut(found):
            if self.work.verb == "upsert" and (hashes[1:] == hashes[:-1]).any():
                self.keys.look_again(rows)
            change = self._change(rows, self._held(rows))
            if len(change):
                yield ordered(change, self.work.found_by)

    def _cut(self, found: Iterable[tuple[U64, Rows]]) -> Iterator[tuple[U64, Rows]]:
        """Rows some at a time, of which what is stored fits; those of one hash come together."""
        size = sum(s.blob.bytes for ref in self._before.refs.values() for s in ref.segments)
        each = size // max(self._before.size(self.work.own.name), 1)
        most = max(self.room.chunk // max(each, 1), FEWEST)
        for hashes, rows in found:
            start = 0
            while start < len(rows):
                end = int(np.searchsorted(hashes, hashes[min(start + most, len(rows)) - 1], "right"))
                yield hashes[start:end], Rows(rows.types, table=rows.arrow().slice(start, end - start), summed=True)
                start = end

    def _held(self, rows: Rows) -> Rows:
        """The stored rows that are meant, each once."""
        columns = self.work.found_by
        keys = Keys(columns, rows.select(self.keys.spec.indexes[0]))
        return self._before.probe(self.work.own.name, columns, keys).consolidated()

    def _change(self, rows: Rows, held: Rows) -> Rows:
        """How ``held`` rows change for numbered ones."""
        spec = self.work.specs[self.work.own.name]
        match self.work.verb:
            case "delete":
                gone = Rows(spec.types, table=unnumbered(rows, spec).arrow()).consolidated()
                self._check_there(rows, gone, held)
                self._leave(held)
                return gone.negated()
            case "delete_key":
                self._check_keys(rows, held)
                self._leave(held)
                return held.negated()
            case "discard_key":
                self._leave(held)
                return held.negated()
            case "upsert":
                self._leave(held)
                return unnumbered(rows, spec).plus(held.negated()).consolidated()
            case "insert":
                raise LawBroken("rows that are inserted replace none", where=self.work.where)

    def _leave(self, held: Rows) -> None:
        """Write what is in the bags of rows."""
        r = self.work.relation
        if len(r.parts) == 1 or not len(held):
            return
        whole = ColumnChanges(r, self._before, Numbers(0)).whole(self.work.own, held)
        for part, rows in whole.items():
            if part != r.name and len(rows):
                self._write(self.work.specs[part], rows)
        self.room.release()

    def _write(self, spec: TableSpec, rows: Rows) -> None:
        number = numbered(self.piece.id + 1) + sum(map(len, self.old.values()))  # no two runs have one
        run = Unwritten(rows, spec.indexes[:1], number)
        self.old.setdefault(spec.name, []).extend(written([run], self.disk, self.room, lasts=False))

    # ------------------------------------------------------------ what is wrong

    def _check_keys(self, rows: Rows, held: Rows) -> None:
        """Each key is there, and comes once."""
        if len(held) == len(rows):
            return
        keys = rows.select(self.keys.spec.indexes[0])
        there = _among(keys, held.select(self.work.found_by))
        first = _ranks(keys, _each(keys), numbers_of(rows)) == 0
        self.keys.note_there(rows, np.flatnonzero(~there), partial(key_missing, before=False))
        self.keys.note_there(rows, np.flatnonzero(there & ~first), partial(key_missing, before=True))

    def _check_there(self, rows: Rows, gone: Rows, held: Rows) -> None:
        """Rows that are to go are there as often."""
        wanted, there = gone.arrow().column(WEIGHT).to_numpy(), np.zeros(len(gone), np.int64)
        which, places = places_in(held, gone)
        there[which] = held.arrow().column(WEIGHT).to_numpy()[places]
        if (there >= wanted).all():
            return
        own = unnumbered(rows, self.work.specs[self.work.own.name])
        which, places = places_in(gone, own)
        had = np.zeros(len(own), np.int64)
        had[which] = there[places]
        wrong = _ranks(own, gone, numbers_of(rows)) >= had
        others = _among(own.select(self.work.found_by), held.select(self.work.found_by))
        for fewer, other in product((True, False), repeat=2):
            at = np.flatnonzero(wrong & ((had > 0) == fewer) & (others == other))
            self.keys.note_there(rows, at, partial(row_missing, others=other, fewer=fewer))


def _each(rows: Rows) -> Rows:
    """Each of ``rows`` once."""
    return Rows(rows.types, table=rows.arrow()).consolidated()


def _among(rows: Rows, those: Rows) -> Mask:
    """By row, whether it is one of ``those``."""
    found: Mask = among(rows, tuple(range(len(rows.types))), those).to_numpy()
    return found


def _ranks(rows: Rows, each: Rows, numbers: Places) -> Places:
    """By row, how many that are equal to it have smaller numbers; ``each`` has all that differ."""
    groups, ranks = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    which, places = places_in(each, rows)
    groups[which] = places
    order = np.lexsort((numbers, groups))
    groups = groups[order]
    ranks[order] = np.arange(len(rows)) - np.searchsorted(groups, groups, "left")
    return ranks
