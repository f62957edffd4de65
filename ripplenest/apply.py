"""Operations to signed rows of stored tables, each checked against the state and the operations before it.

Theory of operation. Operations run in the order in which the user wrote them, on an overlay of the version before the
batch; nothing is stored here. A nested row is its flat row plus the rows of its bags' dictionaries, at every depth:
insert adds them, delete finds the one stored row with equal contents and takes it and everything below it away. A deep
update touches only the dictionary that holds the inner bag.
"""

from collections.abc import Iterator

from ripplenest.deep import Place, resolve
from ripplenest.identity import BatchNames
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import DuplicateKey, RowNotThere
from ripplenest.operations import Deep, Operation, Write
from ripplenest.overlay import Found, Overlay
from ripplenest.plan.columns import from_leaves, to_leaves
from ripplenest.relation import Part, Relation
from ripplenest.rows import Row
from ripplenest.shred.values import has_bag, nest, occurrences, shred_row

HOLLOW = "hollow"


class Session:
    """One batch at work: ``run`` its operations, then read ``overlay.changes()``."""

    def __init__(self, relations: dict[str, Relation], overlay: Overlay, batch: tuple[str, int]) -> None:
        self.relations, self.overlay = relations, overlay
        self.names = BatchNames(batch)

    def run(self, o: Operation, where: str) -> None:
        """Apply one operation. Raises a DataError that names the row under ``where``; the session is then void."""
        relation = self.relations[o.relation]
        match o:
            case Write("insert", _, rows):
                self._insert_all(relation, rows, where)
            case Write("delete", _, rows):
                self._delete_all(relation, rows, where)
            case Write("upsert", _, rows):
                self._upsert_all(relation, rows, where)
            case Deep():
                self._deep(relation, o, where)

    # ------------------------------------------------------------ whole rows

    def _insert_all(self, r: Relation, rows: tuple[Value, ...], where: str) -> None:
        if r.key:
            self._fetch_keys(r, rows)
        for i, value in enumerate(rows):
            self._insert(r, value, f"{where}[{i}]")

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
        columns = self._lookup(r, part)
        self._fetch(part, columns, [self._probe_key(part, columns, v, None) for v in rows])
        for i, value in enumerate(rows):
            self._delete(r, part, columns, value, None, f"{where}[{i}]")

    def _upsert_all(self, r: Relation, rows: tuple[Value, ...], where: str) -> None:
        self._fetch_keys(r, rows)
        for i, value in enumerate(rows):
            for stored in self._holders(r, value):
                self._remove(r, r.parts[r.name], stored, 1)
            self._insert(r, value, f"{where}[{i}]")

    # ------------------------------------------------------------ inner bags

    def _deep(self, r: Relation, o: Deep, where: str) -> None:
        for place in resolve(self.overlay, r, o, where):
            if o.verb == "insert":
                self._insert_inner(r, place, o.rows)
            else:
                self._delete_inner(r, place, o.rows, where)

    def _insert_inner(self, r: Relation, place: Place, rows: tuple[Value, ...]) -> None:
        part = r.parts[place.part]
        for value, n in occurrences(BagValue.of(rows), part.row):
            identity = self.names.row(place.part, place.id, value) if has_bag(part.row) else ""
            flat, entries = shred_row(value, part.row, place.part, identity, self.names)
            self.overlay.add(part.name, (place.id, *to_leaves(flat, part.flat)), n)
            for e in entries:
                if e.count:
                    self._add_entry(r, e.part, e.label, e.row, e.count)

    def _delete_inner(self, r: Relation, place: Place, rows: tuple[Value, ...], where: str) -> None:
        part = r.parts[place.part]
        self._fetch(part, part.scalars, [self._probe_key(part, part.scalars, v, place.id) for v in rows])
        for i, value in enumerate(rows):
            self._delete(r, part, part.scalars, value, place.id, f"{where}[{i}]")

    # ------------------------------------------------------------ finding and taking away

    def _delete(
        self, r: Relation, part: Part, columns: tuple[int, ...], value: Value, bag: str | None, where: str
    ) -> None:
        key = self._probe_key(part, columns, value, bag)
        found = self._candidates(part, columns, key)
        equal = (row for row, n in found.items() if n > 0 and self.nested(r, part, row) == value)
        stored = min(equal, key=str, default=None)
        if stored is None:
            near = "a row with these base values but other inner bags" if found else "no such row"
            raise RowNotThere("a delete of a row that is not there", where=where, wanted="a row of the bag", got=near)
        self._remove(r, part, stored, 1)

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

    def _lookup(self, r: Relation, part: Part) -> tuple[int, ...]:
        return r.key_columns if r.key else part.scalars

    def _probe_key(self, part: Part, columns: tuple[int, ...], value: Value, bag: str | None) -> Row:
        """What ``columns`` of the stored row of ``value`` hold; no label is among them."""
        flat, _ = shred_row(value, part.row, part.name, HOLLOW, _Hollow())
        leaves = to_leaves(flat, part.flat)
        stored = (bag, *leaves) if part.inner else leaves
        return tuple(stored[c] for c in columns)

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


class _Hollow:
    """Names for a row whose labels nobody looks at."""

    def place(self, path: str, identity: str) -> str:  # noqa: ARG002
        return identity

    def row(self, path: str, place: str, value: Value) -> str:  # noqa: ARG002
        return place


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
