"""Operations run one by one, in the order in which the user wrote them, on an overlay of the version before the batch.

Insert adds documents, delete finds stored ones with equal contents and takes them away, upsert takes away what has the
key and puts the new document there with the labels of the old one, so that what is equal in both cancels. A deep
operation is the same on one inner bag.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ripplenest.data.naming import Numbers
from ripplenest.data.rows import Row, Rows
from ripplenest.errors import DataError, DuplicateKey, RowNotThere
from ripplenest.intake.consistent import check_update
from ripplenest.intake.documents import Documents, Reused, outline
from ripplenest.intake.locate import chosen_rows, fetch, inner_bags
from ripplenest.intake.operations import Deep, ForEach, Operation, Set, Verb, Where, Write
from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.errors import RipplenestError, raise_first, shown
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.schema.relation import Part, Relation
from ripplenest.shred.places import child_path
from ripplenest.store.specs import Columns
from ripplenest.version.overlay import Found, Overlay

Contents = dict[Value, list[tuple[Row, int]]]


class Session:
    """One batch at work: ``run`` its operations, then read its ``changes()``."""

    def __init__(self, relations: Mapping[str, Relation], overlay: Overlay, numbers: Numbers) -> None:
        """``numbers`` are those of the version that the batch makes."""
        self.relations, self.overlay = relations, overlay
        self._numbers = numbers
        self._documents = {name: Documents(r, overlay) for name, r in relations.items()}

    def run(self, o: Operation, where: str) -> None:
        """Apply one operation. Raises a DataError that names the row under ``where``; the session is then void."""
        r = self.relations[o.relation]
        match o:
            case Write(verb, _, given):
                self._rows(verb, self._documents[r.name], r.parts[r.name], (), given.values, where)
            case Deep() | Set():
                self._deep(r, o, where)
            case ForEach():
                raise_first(self._one_by_one(o, where))

    def changes(self) -> dict[str, Rows]:
        """The signed rows of every part that changed, checked to be a consistent update. Raises LawBroken."""
        for r in self.relations.values():
            check_update(r, self.overlay)
        return self.overlay.changes()

    def _one_by_one(self, o: ForEach, where: str) -> Iterator[RipplenestError]:
        """Runs the operations that it stands for; what is wrong with one changes nothing, and those after it run."""
        group, r = list(o.singles()), self.relations[o.relation]
        bags: dict[str, list[tuple[Row, tuple[Value, ...]]]] = {}
        for single, own in zip(group, fetch(self.overlay, r, group), strict=True):
            if isinstance(single, Deep):
                for bag in own:
                    bags.setdefault(bag.part.name, []).append((bag.label, single.rows.values))
        for name, found in bags.items():
            self._fetch(o.verb, self._documents[r.name], r.parts[name], found)
        for i, single in enumerate(group):
            try:
                self._deep(r, single, f"{where}: each[{i}]")
            except DataError as error:
                yield error

    def _deep(self, r: Relation, o: Deep | Set, where: str) -> None:
        """A deep operation; what is wrong is told with the values in its address."""
        try:
            if isinstance(o, Set):
                self._set(r, o, where)
                return
            for bag in inner_bags(self.overlay, r, o, where):
                self._rows(o.verb, self._documents[r.name], bag.part, bag.label, o.rows.values, where)
        except DataError as error:
            raise (error if error.key else error.of_row(_asked(o))) from None

    # ------------------------------------------------------------ the rows of one bag

    def _fetch(self, verb: str, d: Documents, part: Part, bags: Sequence[tuple[Row, tuple[Value, ...]]]) -> None:
        """Reads at once what the verb looks at when rows of these bags come or go."""
        of = [(label, value) for label, rows in bags for value in rows]
        if verb == "delete":
            columns = part.lookup
            keys = [_projected(outline(label, value, part), columns) for label, value in of]
        elif part.key:
            columns = part.key_columns
            keys = [(*label, *(field_of(value, name) for name in part.key)) for label, value in of]
        else:
            return
        if columns:
            self.overlay.fetch(part.name, columns, keys)
        if verb != "insert":
            d.fetch_below(part, [row for key in dict.fromkeys(keys) for row in self._candidates(part, columns, key)])

    def _rows(self, verb: Verb, d: Documents, part: Part, label: Row, rows: tuple[Value, ...], where: str) -> None:
        self._fetch(verb, d, part, [(label, rows)])
        match verb:
            case "insert":
                self._insert(d, part, label, rows, where)
            case "delete":
                self._delete(d, part, label, rows, where)
            case "upsert":
                self._upsert(d, part, label, rows, where)
            case "delete_key":
                self._delete_keys(d, part, label, rows, where)
            case "discard_key":
                self._discard_keys(d, part, label, rows)

    def _insert(self, d: Documents, part: Part, label: Row, rows: Sequence[Value], where: str) -> None:
        check_keys(d.relation, part, rows, where)
        raise_first(self._taken_keys(part, label, rows, where))
        d.add(d.shredded(part, label, rows, self._numbers))

    def _taken_keys(self, part: Part, label: Row, rows: Sequence[Value], where: str) -> Iterator[RipplenestError]:
        for i, value, held in self._held(part, label, rows):
            if held:
                yield key_taken(part, value, f"{where}: rows[{i}]")

    def _upsert(self, d: Documents, part: Part, label: Row, rows: Sequence[Value], where: str) -> None:
        check_keys(d.relation, part, rows, where)
        found = list(self._held(part, label, rows))
        for _, value, held in found:
            new = d.shredded(part, label, [value], Reused(d, part, list(held), self._numbers))
            for row, n in held.items():
                d.remove(part, row, n)
            d.add(new)

    def _delete_keys(self, d: Documents, part: Part, label: Row, keys: Sequence[Value], where: str) -> None:
        found = list(self._held(part, label, keys))
        raise_first(_missing_keys(part, found, where))
        for _, _, held in found:
            for row, n in held.items():
                d.remove(part, row, n)

    def _discard_keys(self, d: Documents, part: Part, label: Row, keys: Sequence[Value]) -> None:
        for _, _, held in list(self._held(part, label, dict.fromkeys(keys))):
            for row, n in held.items():
                d.remove(part, row, n)

    def _delete(self, d: Documents, part: Part, label: Row, rows: Sequence[Value], where: str) -> None:
        columns = part.lookup
        keys = [_projected(outline(label, value, part), columns) for value in rows]
        candidates = {key: self._candidates(part, columns, key) for key in dict.fromkeys(keys)}
        contents = {key: _contents(d, part, found) for key, found in candidates.items()}
        gone: list[Row] = []
        raise_first(_missing(part, [contents[key] for key in keys], rows, where, gone))
        for row in gone:
            d.remove(part, row, 1)

    def _set(self, r: Relation, o: Set, where: str) -> None:
        chosen = chosen_rows(self.overlay, r, o, where)
        values = {chosen.column(name): value for name, value in o.fields}
        for row, n in chosen.rows.items():
            self.overlay.add(chosen.part.name, row, -n)
            self.overlay.add(chosen.part.name, tuple(values.get(c, v) for c, v in enumerate(row)), n)

    # ------------------------------------------------------------ finding

    def _held(self, part: Part, label: Row, rows: Collection[Value]) -> Iterator[tuple[int, Value, Found]]:
        """For each of ``rows``, which have the fields of the key: its number, it, and the rows with its key now."""
        if not part.key:
            yield from ((i, value, {}) for i, value in enumerate(rows))
            return
        keys = [(*label, *(field_of(value, name) for name in part.key)) for value in rows]
        for i, (value, key) in enumerate(zip(rows, keys, strict=True)):
            yield i, value, self.overlay.rows(part.name, part.key_columns, key)

    def _candidates(self, part: Part, columns: Columns, key: Row) -> Found:
        return self.overlay.rows(part.name, columns, key) if columns else self.overlay.scan(part.name)


def check_keys(r: Relation, part: Part, rows: Iterable[Value], where: str) -> None:
    """Rows have no order, so that of two rows with one key neither is the last. Raises DuplicateKey, at every depth."""
    if not part.key and not r.keys:
        return
    raise_first(numbered_faults(r, part, enumerate(rows), where))


def numbered_faults(
    r: Relation, part: Part, rows: Iterable[tuple[int, Value]], where: str
) -> Iterator[RipplenestError]:
    """A DuplicateKey for each row whose key came before or in which one comes again, of rows and their numbers."""
    seen: dict[Row, int] = {}
    for i, value in rows:
        place = f"{where}: rows[{i}]"
        key = tuple(field_of(value, name) for name in part.key)
        if part.key and seen.setdefault(key, i) != i:
            yield key_again(part, value, place)
            continue
        try:
            _check_inside(r, value, part.row, r.rows_of(part).path, place)
        except DuplicateKey as error:
            yield error.of_row(key_text(part, value))


def key_again(part: Part, value: Value, where: str) -> RipplenestError:
    """What is wrong with a row whose key came before; of ``value`` only the key is looked at."""
    error = DuplicateKey("two rows with this key", where=where, wanted=f"each {', '.join(part.key)} once")
    return error.of_row(key_text(part, value))


def key_taken(part: Part, value: Value, where: str) -> RipplenestError:
    """What is wrong with a row whose key is there already."""
    what, wanted = "there is a row with this key", f"a new {', '.join(part.key)}"
    error = DuplicateKey(what, where=where, wanted=wanted, possible=["upsert"])
    return error.of_row(key_text(part, value))


def _check_inside(r: Relation, value: Value, t: Type, path: str, where: str) -> None:
    match t:
        case Record(fields):
            for name, inner in fields:
                _check_inside(r, field_of(value, name), inner, child_path(path, name), f"{where}.{name}")
        case Bag() if isinstance(value, BagValue):
            part = r.parts[path]
            key = ", ".join(part.key)
            if part.key and any(n > 1 for _, n in value):
                raise DuplicateKey("a row with a key is there twice", where=where, wanted=f"each {key} once")
            keys = [tuple(field_of(row, name) for name in part.key) for row, _ in value]
            if part.key and len(set(keys)) < len(keys):
                raise DuplicateKey("two rows with this key", where=where, wanted=f"each {key} once")
            for row, _ in value:
                _check_inside(r, row, part.row, r.rows_of(part).path, where)


def _contents(d: Documents, part: Part, found: Found) -> Contents:
    """Stored rows by the nested row that they stand for, the one to take first last."""
    contents: Contents = {}
    for row in sorted(found, key=str, reverse=True):
        if found[row] > 0:
            contents.setdefault(d.nested(part, row), []).append((row, found[row]))
    return contents


def _missing(
    part: Part, there: Sequence[Contents], rows: Sequence[Value], where: str, gone: list[Row]
) -> Iterator[RipplenestError]:
    """Which of ``rows`` are not ``there``; ``gone`` gets one stored row for each other, taken out of ``there``."""
    for i, (value, contents) in enumerate(zip(rows, there, strict=True)):
        equal = contents.get(value)
        if equal:
            row, n = equal.pop()
            if n > 1:
                equal.append((row, n - 1))
            gone.append(row)
            continue
        yield row_missing(part, value, f"{where}: rows[{i}]", bool(contents), equal is not None)


def row_missing(part: Part, value: Value, where: str, others: bool, fewer: bool) -> RipplenestError:
    """What is wrong with a row that is to go and is not there: ``others`` are with its key, or ``fewer`` such rows are
    there than are to go; of ``value`` only the key is looked at."""
    other = "a row with this key and other contents" if part.key else "only rows with other inner bags"
    got = "fewer such rows" if fewer else other if others else "no such row"
    what, wanted = "a delete of a row that is not there", "a row of the bag"
    return RowNotThere(what, where=where, wanted=wanted, got=got).of_row(key_text(part, value))


def _missing_keys(part: Part, found: Iterable[tuple[int, Value, Found]], where: str) -> Iterator[RipplenestError]:
    gone: set[Row] = set()
    for i, value, held in found:
        if not held or gone.issuperset(held):
            yield key_missing(part, value, f"{where}: rows[{i}]", before=bool(held))
        gone.update(held)


def key_missing(part: Part, value: Value, where: str, before: bool) -> RipplenestError:
    """What is wrong with a key that is to go and is not there, or came ``before``."""
    got = "the same key before" if before else "no row"
    what, wanted = "a delete of a key that is not there", f"a row with this {', '.join(part.key)}"
    possible = None if before else ["discard_key, which passes over a key that is not there"]
    return RowNotThere(what, where=where, wanted=wanted, got=got, possible=possible).of_row(key_text(part, value))


def key_text(part: Part, value: Value) -> str:
    """The key of a row, for messages."""
    return ", ".join(f"{name} {shown(field_of(value, name))}" for name in part.key)


def _asked(o: Deep | Set) -> str:
    """The values in the address of an operation, for messages."""
    asked = (field for step in o.steps if isinstance(step, Where) for field in step.fields)
    return ", ".join(f"{name} {shown(value)}" for name, value in asked)


def _projected(row: Row, columns: Columns) -> Row:
    return tuple(row[c] for c in columns)
