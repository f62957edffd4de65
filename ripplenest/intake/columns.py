"""Operations on one relation by columns, at every depth: the same changes as row by row (``apply.py``).

Each operation is a few probes: which keys are there, which rows, what is in their bags. What the batch has changed so
far is rows in memory, found by the same index as stored ones. Where something is wrong with an operation, nothing is
said here of what: the batch is then run row by row, which finds the culprit.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ripplenest.data.columnar import places_in
from ripplenest.data.hashing import hash_columns, mix
from ripplenest.data.index import Columns, Keys, matches
from ripplenest.data.levels import Level
from ripplenest.data.naming import Numbers
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.intake.held import Held, Kept, paired
from ripplenest.intake.operations import Verb
from ripplenest.intake.shredding import Anew, Arrays, Numbering, Parts, Shredder, placed
from ripplenest.schema.relation import Part, Relation
from ripplenest.vector.binding import Input
from ripplenest.version.lookups import Lookups, Probed


class Culprit(Exception):
    """An operation that cannot be done, or not by columns, is among those of the batch."""


class ColumnChanges:
    """What a batch does to one relation."""

    def __init__(
        self, relation: Relation, before: Probed, numbers: Numbers, anew: Numbering | None = None
    ) -> None:
        """``before`` has access keys of the columns by which rows are found (``Relation.specs``), and others are asked
        for in ``lookups.missed``. Rows that are inserted are numbered by ``anew``, if it is given, and all others from
        ``numbers``."""
        self.relation, self.lookups, self._numbers = relation, Lookups(before), numbers
        self._anew = Anew(numbers) if anew is None else anew
        self._pending: dict[str, Rows] = {}
        self._inputs: dict[str, Input] = {}
        self._asked: dict[tuple[str, Columns], list[tuple[Keys, Rows]]] = {}  # by part and columns

    def write(self, verb: Verb, part: Part, label: Arrays, level: Level) -> None:
        """Apply one operation to rows of the bags whose labels are beside them. Raises Culprit when it cannot be
        done."""
        match verb:
            case "insert":
                self._insert(part, label, level)
            case "delete":
                self._delete(part, label, level)
            case "upsert":
                self._upsert(part, label, level)
            case "delete_key" | "discard_key":
                self._take_keys(verb, part, label, level)

    def replace(self, part: Part, old: Rows, new: Rows) -> None:
        """Stored rows become others, with what is in them."""
        self._add({part.name: old.negated()})
        self._add({part.name: new})

    def fill(self, level: Level) -> None:
        """Insert rows into the relation, which has none. Raises Culprit for what is in their bags; whether their own
        keys differ is seen where the rows of all pieces of a load meet."""
        new = self._shredded(self.relation.parts[self.relation.name], (), level, self._anew)
        self._add({name: self._once(name, rows) for name, rows in new.items()})

    def changes(self) -> dict[str, Rows]:
        """The signed rows of the parts that change."""
        found = {name: rows.consolidated() for name, rows in self._pending.items()}
        return {name: rows for name, rows in found.items() if not rows.is_empty}

    # ------------------------------------------------------------ verbs

    def _insert(self, part: Part, label: Arrays, level: Level) -> None:
        new = self._shredded(part, label, level, self._anew)
        if part.key and not self.held(part, part.key_columns, self._keys(part, new)).is_empty:
            raise Culprit
        self._add({name: self._once(name, rows) for name, rows in new.items()})

    def _once(self, name: str, rows: Rows) -> Rows:
        """New rows whose keys were seen to be different: each is there once."""
        return Rows(rows.types, table=rows.arrow(), summed=True) if self.relation.parts[name].key else rows

    def _upsert(self, part: Part, label: Arrays, level: Level) -> None:
        columns = placed(part, label, level.columns)
        keys = _distinct(part, [columns[c] for c in part.key_columns], level)
        held = self.whole(part, self.held(part, part.key_columns, keys))
        new = self._shredded(part, label, level, Kept(Held(self.relation, held), part, self._numbers))
        self._add({name: rows.negated() for name, rows in held.items()})
        self._add(new)

    def _take_keys(self, verb: Verb, part: Part, label: Arrays, level: Level) -> None:
        """``level`` has the fields of the key."""
        if verb == "discard_key":
            keys = wanted_keys(part, part.key_columns, [*label, *level.columns])
        else:
            keys = _distinct(part, [*label, *level.columns], level)
        held = self.held(part, part.key_columns, keys)
        if verb == "delete_key" and len(held) != len(keys):
            raise Culprit
        self._add({name: rows.negated() for name, rows in self.whole(part, held).items()})

    def _delete(self, part: Part, label: Arrays, level: Level) -> None:
        if part.held:
            self._delete_documents(part, label, level)
        else:
            self._delete_rows(part, self._shredded(part, label, level, Anew(self._numbers))[part.name])

    def _delete_rows(self, part: Part, rows: Rows) -> None:
        """Rows without bags: as many of each as there are at least."""
        gone = rows.consolidated()
        held = self.held(part, part.lookup, Keys(part.lookup, gone.select(part.lookup)))
        which, places = places_in(held, gone)
        there, wanted = (rows.arrow().column(WEIGHT).to_numpy() for rows in (held, gone))
        if len(which) != len(gone) or (there[places] < wanted[which]).any():
            raise Culprit
        self._add({part.name: gone.negated()})

    def _delete_documents(self, part: Part, label: Arrays, level: Level) -> None:
        """Rows with equal contents are looked for by number; what they are made of is then compared exactly."""
        columns = placed(part, label, level.columns)
        asked = wanted_keys(part, part.lookup, [columns[c] for c in part.lookup])
        candidates = self.held(part, part.lookup, asked)
        held = Held(self.relation, self.whole(part, candidates))
        stored = held.input(part)
        wanted = mix(hash_columns(label, len(level)) + level.printed.prints)
        there = mix(hash_columns([stored.columns[c] for c in part.label], len(stored)) + held.prints(part))
        which, places = paired(wanted, there)
        if len(which) != len(level):
            raise Culprit
        gone = held.only(part, places)
        same = self._shredded(part, label, level, Kept(gone, None, self._numbers))
        if any(not gone.rows[name].plus(rows.negated()).consolidated().is_empty for name, rows in same.items()):
            raise Culprit
        if any(not rows.is_empty and name not in same for name, rows in gone.rows.items()):
            raise Culprit
        self._add({name: rows.negated() for name, rows in gone.rows.items()})

    # ------------------------------------------------------------ rows

    def _shredded(self, part: Part, label: Arrays, level: Level, numbering: Numbering) -> Parts:
        check_inside(self.relation, part, level)
        return Shredder(self.relation, numbering).shredded(part, label, level)

    def _keys(self, part: Part, new: Parts) -> Keys:
        rows = new[part.name]
        keys = Keys(part.key_columns, rows.select(part.key_columns))
        if len(keys) != len(rows) or rows.heaviest() > 1:
            raise Culprit
        return keys

    def held(self, part: Part, columns: Columns, keys: Keys) -> Rows:
        """The rows of a part that have one of ``keys`` now, each once."""
        found = self.stored(part, columns, keys)
        if part.name in self._pending:
            own = self._input(part.name)
            _, places = matches(own.index(columns), own.table, columns, keys.hashes, keys.arrays)
            found = found.plus(Rows(part.types, table=own.table.take(pa.array(places))))
        return found.consolidated()

    def stored(self, part: Part, columns: Columns, keys: Keys) -> Rows:
        """The rows of a part that had one of ``keys`` before the batch, each once."""
        asked = self._asked.setdefault((part.name, columns), [])
        known = next((rows for before, rows in asked if before.are(keys)), None)
        if known is None:
            known = self.lookups.probe(part.name, columns, keys).consolidated()
            asked.append((keys, known))
        return known

    def seen(self, part: Part) -> Rows:
        """The rows of a part, as they were before the batch, that were read so far, each once."""
        some = [rows for (name, _), asked in self._asked.items() if name == part.name for _, rows in asked if len(rows)]
        if len(some) < 2:
            return some[0] if some else Rows.empty(part.types)
        table = pa.concat_tables([rows.arrow() for rows in some])
        *names, weight = table.column_names
        once = table.group_by(names, use_threads=False).aggregate([(weight, "max")])
        return Rows(part.types, table=once.rename_columns([*names, weight]).cast(table.schema), summed=True)

    def whole(self, part: Part, rows: Rows) -> dict[str, Rows]:
        """``rows`` of a part and all that is in their bags now."""
        found = {part.name: rows}
        for path, columns in part.held.items():
            below = self.relation.parts[path]
            labels = rows.select(columns)
            kept = labels.arrow().filter(labels.arrow().column(0).is_valid())
            if kept.num_rows:
                keys = Keys(below.label, Rows(labels.types, table=kept))
                found |= self.whole(below, self.held(below, below.label, keys))
        return found

    def _input(self, name: str) -> Input:
        if name not in self._inputs:
            self._inputs[name] = Input.of(self._pending[name])
        return self._inputs[name]

    def _add(self, rows: Mapping[str, Rows]) -> None:
        for name, new in rows.items():
            if not new.is_empty:
                self._pending[name] = self._pending[name].plus(new) if name in self._pending else new
                self._inputs.pop(name, None)


def check_inside(r: Relation, part: Part, level: Level) -> None:
    """Each key of a bag's rows is there once. Raises Culprit."""
    for path, bags in zip(part.held, level.bags, strict=True):
        below = r.parts[path]
        if below.key:
            owners = pa.array(bags.owners)
            columns = placed(below, [owners] * len(below.label), bags.rows.columns)
            _check_distinct([owners, *(columns[below.column((name,))] for name in below.key)], bags.rows)
        check_inside(r, below, bags.rows)


def wanted_keys(part: Part, columns: Columns, arrays: Arrays) -> Keys:
    """Keys of rows of a part: the values of its ``columns`` in ``arrays``."""
    return Keys(columns, _rows(part, columns, arrays))


def _rows(part: Part, columns: Columns, arrays: Arrays) -> Rows:
    return Rows.of_columns(tuple(part.types[c] for c in columns), arrays)


def _distinct(part: Part, columns: Arrays, level: Level) -> Keys:
    """The keys in ``columns``, each of which must come once."""
    keys = wanted_keys(part, part.key_columns, columns)
    if len(keys) != len(level) or (level.weights is not None and (level.weights > 1).any()):
        raise Culprit
    return keys


def _check_distinct(columns: Arrays, level: Level) -> None:
    if level.weights is not None and (level.weights > 1).any():
        raise Culprit
    if len(np.unique(hash_columns(columns, len(level)))) == len(level):
        return
    names = [str(i) for i in range(len(columns))]
    if pa.table(list(columns), names).group_by(names, use_threads=False).aggregate([]).num_rows != len(level):
        raise Culprit
