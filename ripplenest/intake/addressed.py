"""Deep operations of one shape (``alike.py``) as one operation by columns: addresses meet rows level by level.

``locate.py`` says what an address means, for one operation.
Operations of one shape do not see each other: what they change is below the rows that their addresses choose, or are
fields that these do not ask for.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ripplenest.data.grouping import same
from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Columns, Places, matches, ranges
from ripplenest.data.levels import Level
from ripplenest.data.rows import Rows
from ripplenest.intake.alike import Group, Singles, Table, grouped
from ripplenest.intake.columns import ColumnChanges, Culprit, wanted_keys
from ripplenest.intake.operations import Deep, Field, ForEach, Operation, Set, Write, way
from ripplenest.intake.shredding import Arrays
from ripplenest.schema.relation import Part
from ripplenest.shred.places import child_path
from ripplenest.vector.binding import Input


def run(changes: ColumnChanges, operations: Sequence[Operation]) -> None:
    """Apply ``operations`` on one relation. Raises Culprit when one of them cannot be done, or not in this way."""
    for group in grouped(operations):
        match group[0]:
            case Write(verb, _, given):
                part = changes.relation.parts[changes.relation.name]
                changes.write(verb, part, (), given.level if given.is_flat else given.ordered)
            case Deep(verb):
                changes.write(verb, *_rows(Singles([o for o in group if isinstance(o, Deep)]), changes))
            case Set():
                _set(Singles([o for o in group if isinstance(o, Set)]), changes)
            case ForEach(verb) as each if verb != "set":
                changes.write(verb, *_rows(Table(each), changes))
            case ForEach() as each:
                _set(Table(each), changes)


class _Bags:
    """Inner bags, each that of operation number ``which``: the part of their rows, and their labels."""

    def __init__(self, part: Part, label: Arrays, which: Places) -> None:
        self.part, self.label, self.which = part, label, which


class _Chosen:
    """Rows of a part at ``places``, each that of operation number ``which``, and the way to a record inside of them."""

    def __init__(self, part: Part, rows: Input, places: Places, which: Places, trail: tuple[str, ...] = ()) -> None:
        self.part, self.rows, self.places, self.which, self.trail = part, rows, places, which, trail

    def into(self, name: str) -> "_Chosen":
        return _Chosen(self.part, self.rows, self.places, self.which, (*self.trail, name))

    def bags(self, changes: ColumnChanges) -> _Bags:
        """The inner bags at the end of the trail."""
        path = self.part.name
        for name in self.trail:
            path = child_path(path, name)
        label = [self.rows.columns[c].take(pa.array(self.places)) for c in self.part.held[path]]
        if label[0].null_count:
            raise Culprit
        return _Bags(changes.relation.parts[path], label, self.which)


def _rows(group: Group, changes: ColumnChanges) -> tuple[Part, Arrays, Level]:
    """The rows of all operations, each with the label of its bag beside it."""
    bags = _labelled(group, changes) or _chosen(group, changes).bags(changes)
    level, counts = group.rows
    starts = np.cumsum(counts) - counts
    places = ranges(starts[bags.which], counts[bags.which])
    of = np.repeat(np.arange(len(bags.which)), counts[bags.which])
    taken = level if np.array_equal(places, np.arange(len(level))) else level.take(places)
    rows, of = taken.printed.grouped(of)
    return bags.part, [c.take(pa.array(of)) for c in bags.label], rows


def _labelled(group: Group, changes: ColumnChanges) -> _Bags | None:
    """The bags with the labels that are given, each of which some row must hold."""
    path, holder = group.path, changes.relation.holders[group.path]
    part = changes.relation.parts[path]
    label = group.label(part.types[: len(part.label)])
    if label is None:
        return None
    rows = Input.of(_held(changes, holder.part, holder.found_by, label))
    which, _ = _found(rows, holder.columns, label)
    if len(which) != len(group) or not np.array_equal(np.sort(which), np.arange(len(group))):
        raise Culprit
    return _Bags(part, [c.take(pa.array(which)) for c in label], which)


def _chosen(group: Group, changes: ColumnChanges) -> _Chosen:
    """The rows that the last step with fields chose, and the fields after it."""
    r = changes.relation
    bags, at = _Bags(r.parts[r.name], (), np.arange(len(group))), None
    for i, step in enumerate(group.steps):
        if isinstance(step, Field):
            assert at is not None
            at = at.into(step.name)
            continue
        bags = at.bags(changes) if at is not None else bags
        columns = tuple(bags.part.column((name,)) for name, _ in step.fields)
        at = _where(columns, group.asked(i, [bags.part.types[c] for c in columns]), bags, changes)
        many = np.bincount(at.which, at.rows.weights[at.places], len(group))
        if not step.many and (many != 1).any():
            raise Culprit
    assert at is not None
    return at


def _where(columns: Columns, given: Arrays, bags: _Bags, changes: ColumnChanges) -> _Chosen:
    """The rows of ``bags`` that are there, whose ``columns`` have the values that are ``given`` for their operation."""
    part = bags.part
    of = dict(zip(columns, (c.take(pa.array(bags.which)) for c in given), strict=True))
    of |= dict(zip(part.label, bags.label, strict=True))
    wanted = part.key_columns if of.keys() >= set(part.key_columns or (-1,)) else tuple(sorted(of))
    asked = [of[c] for c in wanted]
    rows = Input.of(_held(changes, part, wanted, asked))
    which, places = _found(rows, wanted, asked)
    for c in of.keys() - set(wanted):
        equal = same(rows.columns[c].take(pa.array(places)), of[c].take(pa.array(which)))
        which, places = which[equal], places[equal]
    for c in part.there:
        is_there = rows.columns[c].take(pa.array(places)).to_numpy(zero_copy_only=False)
        which, places = which[is_there], places[is_there]
    return _Chosen(part, rows, places, bags.which[which])


def _held(changes: ColumnChanges, part: Part, columns: Columns, asked: Arrays) -> Rows:
    return changes.held(part, columns, wanted_keys(part, columns, asked))


def _found(rows: Input, columns: Columns, asked: Arrays) -> tuple[Places, Places]:
    return matches(rows.index(columns), rows.table, columns, hash_columns(asked, len(asked[0])), asked)


def _there(at: _Chosen, group: Group) -> _Chosen:
    """The chosen rows in which the record at the end of the trail is not NULL."""
    there = np.ones(len(at.places), np.bool_)
    for c in at.part.exists(at.trail):
        there &= at.rows.columns[c].take(pa.array(at.places)).to_numpy(zero_copy_only=False)
    if there.all():
        return at
    if not any(step.many for step in group.steps if not isinstance(step, Field)):
        raise Culprit
    return _Chosen(at.part, at.rows, at.places[there], at.which[there], at.trail)


def _set(group: Group, changes: ColumnChanges) -> None:
    """Give fields of the chosen rows other values; no two operations choose one row, nor one by what is set."""
    at = _there(_chosen(group, changes), group)
    columns = [at.part.column((*at.trail, *way(field))) for field in group.names]
    last = next(step for step in reversed(group.steps) if not isinstance(step, Field))
    asked = {at.part.column((name,)) for name, _ in last.fields}
    if len(group) > 1 and (asked & set(columns) or len(np.unique(at.places)) < len(at.places)):
        raise Culprit
    values = group.values([at.part.types[c] for c in columns])
    old = Rows(at.part.types, table=at.rows.table.take(pa.array(at.places)))
    table = old.arrow()
    for c, column in zip(columns, values, strict=True):
        table = table.set_column(c, table.schema.field(c), column.take(pa.array(at.which)))
    changes.replace(at.part, old, Rows(at.part.types, table=table))
