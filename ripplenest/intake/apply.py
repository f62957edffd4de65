"""Operations to signed rows of stored tables, each checked against the state and the operations before it.

Theory of operation. Operations run in the order in which the user wrote them, on an overlay of the version before the
batch; nothing is stored here. A nested row is its flat row plus the rows of its bags' dictionaries, at every depth:
insert adds them, delete finds the one stored row with equal contents and takes it and everything below it away. A deep
update touches only the dictionary that holds the inner bag.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.data.columns import from_leaves, to_leaves
from ripplenest.data.naming import BatchNames
from ripplenest.data.rows import Row, Rows
from ripplenest.errors import DuplicateKey, RowNotThere
from ripplenest.intake.consistent import check_update
from ripplenest.intake.flat import Culprit, FlatChanges
from ripplenest.intake.locate import Place, resolve
from ripplenest.intake.operations import Deep, Operation, Write
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.values import has_bag, nest, shred_bag, shred_row
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Found, Overlay

Contents = dict[Value, list[tuple[Row, int]]]


FEW = 32  # rows of an operation, on average, below which Python is faster than the fixed cost of columns


@frozen
class Outcome:
    """What operations do: signed rows by part, how many stored rows were read, and access keys that were missed."""

    changes: dict[str, Rows]
    read: int
    missed: Mapping[str, tuple[Columns, ...]]


def carry_out(
    relations: Mapping[str, Relation],
    overlay: Callable[[], Overlay],
    batch: tuple[str, int],
    operations: Sequence[tuple[Operation, str]],
) -> Outcome:
    """What the operations of ``batch`` do, each named by the text beside it. Raises a DataError that names the row.

    Relations without inner bags are worked on by columns, unless their operations are tiny; where one of these cannot
    be done, all are run row by row, to say which row it was.
    """
    tables = overlay()
    flats = {name: FlatChanges(relations[name], tables.before) for name in _by_columns(relations, tables, operations)}
    session = Session(relations, tables, batch)
    try:
        for o, where in operations:
            if isinstance(o, Write) and o.relation in flats:
                flats[o.relation].run(o.verb, o.rows)
            else:
                session.run(o, where)
    except Culprit:
        flats, session = {}, Session(relations, overlay(), batch)
        for o, where in operations:
            session.run(o, where)
    changed = {name: rows for name, flat in flats.items() if not (rows := flat.changes()).is_empty}
    read = session.overlay.read + sum(flat.read for flat in flats.values())
    return Outcome({**session.changes(), **changed}, read, session.overlay.missed)


def _by_columns(
    relations: Mapping[str, Relation], tables: Overlay, operations: Sequence[tuple[Operation, str]]
) -> list[str]:
    """The relations whose operations are worked on by columns."""
    sizes: dict[str, list[int]] = {}
    for o, _ in operations:
        if isinstance(o, Write) and o.rows.is_flat:
            sizes.setdefault(o.relation, []).append(len(o.rows))
    found = [name for name, rows in sizes.items() if sum(rows) >= FEW * len(rows)]
    return [n for n in found if relations[n].lookup(relations[n].parts[n]) in tables.access_keys.get(n, ())]


class Session:
    """One batch at work: ``run`` its operations, then read its ``changes()``."""

    def __init__(self, relations: Mapping[str, Relation], overlay: Overlay, batch: tuple[str, int]) -> None:
        self.relations, self.overlay = relations, overlay
        self.names = BatchNames(batch)

    def run(self, o: Operation, where: str) -> None:
        """Apply one operation. Raises a DataError that names the row under ``where``; the session is then void."""
        relation = self.relations[o.relation]
        match o:
            case Write("insert", _, given):
                self._insert_all(relation, given.values, where)
            case Write("delete", _, given):
                self._delete_all(relation, given.values, where)
            case Write("upsert", _, given):
                self._upsert_all(relation, given.values, where)
            case Deep():
                self._deep(relation, o, where)

    def changes(self) -> dict[str, Rows]:
        """The signed rows of every part that changed, checked to be a consistent update. Raises LawBroken."""
        for r in self.relations.values():
            check_update(r, self.overlay)
        return self.overlay.changes()

    # ------------------------------------------------------------ whole rows

    def _insert_all(self, r: Relation, rows: tuple[Value, ...], where: str) -> None:
        if r.key:
            self._fetch_keys(r, rows)
        for i, value in enumerate(rows):
            self._insert(r, value, f"{where}: rows[{i}]")

    def _insert(self, r: Relation, value: Value, where: str) -> None:
        if r.key and self._holders(r, value):
            raise DuplicateKey(
                "there is a row with this key", where=where, wanted=f"a new {', '.join(r.key)}", possible=["upsert"]
            )
        identity = self._identity(r, value)
        flat, entries = shred_row(value, r.row, r.name, identity, self.names)
        self.overlay.add(r.name, to_leaves(flat, r.parts[r.name].flat), 1)
        for e in entries:
            if e.count:
                self._add_entry(r, e.part, e.label, e.row, e.count)

    def _add_entry(self, r: Relation, part: str, label: LabelValue, row: Value, n: int) -> None:
        self.overlay.add(part, (label.args[0], *to_leaves(row, r.parts[part].flat)), n)

    def _delete_all(self, r: Relation, rows: tuple[Value, ...], where: str) -> None:
        part = r.parts[r.name]
        self._take(r, part, r.lookup(part), rows, None, where)

    def _upsert_all(self, r: Relation, rows: tuple[Value, ...], where: str) -> None:
        self._fetch_keys(r, rows)
        seen: set[Row] = set()
        self._fetch_below(r, r.parts[r.name], [stored for v in rows for stored in self._holders(r, v)])
        for i, value in enumerate(rows):
            if (key := _key(r, value)) in seen:  # rows have no order, so that neither is the last
                raise DuplicateKey(
                    "two rows with this key", where=f"{where}: rows[{i}]", wanted=f"each {', '.join(r.key)} once"
                )
            seen.add(key)
            for stored in self._holders(r, value):
                self._remove(r, r.parts[r.name], stored, 1)
            self._insert(r, value, f"{where}: rows[{i}]")

    # ------------------------------------------------------------ inner bags

    def _deep(self, r: Relation, o: Deep, where: str) -> None:
        for place in resolve(self.overlay, r, o, where):
            if o.verb == "insert":
                self._insert_inner(r, place, o.rows)
            else:
                self._delete_inner(r, place, o.rows, where)

    def _insert_inner(self, r: Relation, place: Place, rows: tuple[Value, ...]) -> None:
        part = r.parts[place.part]
        label = LabelValue(part.name, (place.id,))
        for e in shred_bag(BagValue.of(rows), part.row, part.name, label, self.names):
            if e.count:
                self._add_entry(r, e.part, e.label, e.row, e.count)

    def _delete_inner(self, r: Relation, place: Place, rows: tuple[Value, ...], where: str) -> None:
        part = r.parts[place.part]
        self._take(r, part, part.scalars, rows, place.id, where)

    # ------------------------------------------------------------ finding and taking away

    def _take(
        self, r: Relation, part: Part, columns: tuple[int, ...], rows: tuple[Value, ...], bag: str | None, where: str
    ) -> None:
        """Delete ``rows`` (of the inner bag ``bag``), found by ``columns``. Raises RowNotThere."""
        keys = [self._probe_key(part, columns, v, bag) for v in rows]
        self._fetch(part, columns, keys)
        self._fetch_below(r, part, [row for key in dict.fromkeys(keys) for row in self._candidates(part, columns, key)])
        there: dict[Row, Contents] = {}
        for i, (value, key) in enumerate(zip(rows, keys, strict=True)):
            if key not in there:
                there[key] = self._contents(r, part, self._candidates(part, columns, key))
            self._remove(r, part, _taken(there[key], value, f"{where}: rows[{i}]"), 1)

    def _contents(self, r: Relation, part: Part, found: Found) -> Contents:
        """Stored rows by the nested row that they stand for, the one to take first last."""
        contents: Contents = {}
        for row in sorted(found, key=str, reverse=True):
            if found[row] > 0:
                contents.setdefault(self.nested(r, part, row), []).append((row, found[row]))
        return contents

    def _candidates(self, part: Part, columns: tuple[int, ...], key: Row) -> Found:
        return self.overlay.rows(part.name, columns, key) if columns else self.overlay.scan(part.name)

    def _remove(self, r: Relation, part: Part, stored: Row, n: int) -> None:
        """Take ``n`` of a stored row away, and with it everything below it."""
        self.overlay.add(part.name, stored, -n)
        for below, bag in self._bags(r, part, stored):
            for row, m in self.overlay.rows(below.name, (0,), (bag,)).items():
                self._remove(r, below, row, m)

    def _bags(self, r: Relation, part: Part, stored: Row) -> Iterator[tuple[Part, object]]:
        """The dictionary and the id of every inner bag of a stored row."""
        for label in _labels(from_leaves(stored, part.stored), part.inner):
            yield r.parts[label.site], label.args[0]

    def nested(self, r: Relation, part: Part, stored: Row) -> Value:
        """The nested row that a stored row and the dictionaries below it stand for."""
        flat = from_leaves(stored, part.stored)
        own = field_of(flat, "row") if part.inner else flat
        return next(iter(nest(BagValue({own: 1}), part.row, lambda label: self._definition(r, label)).counts))

    def _definition(self, r: Relation, label: LabelValue) -> BagValue:
        part = r.parts[label.site]
        rows = self.overlay.rows(part.name, (0,), (label.args[0],))
        return BagValue.weighted((field_of(from_leaves(row, part.stored), "row"), n) for row, n in rows.items())

    # ------------------------------------------------------------ keys

    def _identity(self, r: Relation, value: Value) -> str:
        if not has_bag(r.row):
            return ""
        if r.key:
            return self.names.keyed(r.name, _key(r, value))
        return self.names.row(r.name, "", value)

    def _probe_key(self, part: Part, columns: tuple[int, ...], value: Value, bag: str | None) -> Row:
        """What ``columns`` of the stored row of ``value`` hold; no label is among them."""
        stored = (bag, *_outline(value, part.row)) if part.inner else _outline(value, part.row)
        return tuple(stored[c] for c in columns)

    def _fetch_below(self, r: Relation, part: Part, rows: Iterable[Row]) -> None:
        """Read all that is below stored rows, level by level, for ``nested`` and ``_remove``."""
        bags: dict[str, dict[Row, None]] = {}
        for row in rows:
            for below, bag in self._bags(r, part, row):
                bags.setdefault(below.name, {})[(bag,)] = None
        for name, keys in bags.items():
            self.overlay.fetch(name, (0,), keys)
            self._fetch_below(r, r.parts[name], [row for key in keys for row in self.overlay.rows(name, (0,), key)])

    def _fetch_keys(self, r: Relation, rows: tuple[Value, ...]) -> None:
        part = r.parts[r.name]
        self._fetch(part, r.key_columns, [self._probe_key(part, r.key_columns, v, None) for v in rows])

    def _fetch(self, part: Part, columns: tuple[int, ...], keys: list[Row]) -> None:
        if columns:
            self.overlay.fetch(part.name, columns, keys)

    def _holders(self, r: Relation, value: Value) -> list[Row]:
        part = r.parts[r.name]
        key = self._probe_key(part, r.key_columns, value, None)
        return list(self.overlay.rows(r.name, r.key_columns, key))


def _taken(contents: Contents, value: Value, where: str) -> Row:
    """One stored row that stands for ``value``, taken out of ``contents``. Raises RowNotThere."""
    equal = contents.get(value)
    if not equal:
        got = "no such row" if not contents else "only rows with other inner bags"
        got = got if equal is None else "fewer such rows"
        raise RowNotThere("a delete of a row that is not there", where=where, wanted="a row of the bag", got=got)
    row, n = equal.pop()
    if n > 1:
        equal.append((row, n - 1))
    return row


def _outline(value: Value, t: Type) -> Row:
    """The columns of the flat row of ``value``, without the ids of inner bags."""
    match t:
        case Record(fields):
            return tuple(leaf for name, inner in fields for leaf in _outline(field_of(value, name), inner))
        case Bag():
            return (None,)
        case _:
            return (value,)


def _key(r: Relation, value: Value) -> Row:
    return tuple(field_of(value, k) for k in r.key)


def _labels(value: Value, inner: bool) -> Iterator[LabelValue]:
    own = field_of(value, "row") if inner else value
    todo = [own]
    while todo:
        v = todo.pop()
        if isinstance(v, LabelValue):
            yield v
        elif isinstance(v, tuple):
            todo.extend(inner_value for _, inner_value in v)
