"""Where the chain of a deep update has arrived, how that is written, and what can be done there.

Rows that are chosen with nothing after them are a mistake: ``Chosen`` knows those, and the batch refuses them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from attrs import evolve, field, frozen

from ripplenest.api.each import Asking, asked_of, table_of
from ripplenest.errors import BatchMisuse
from ripplenest.intake.operations import Deep, ForEach, Set, Step
from ripplenest.nrc.errors import RipplenestError, WrongColumns
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.schema.relation import Relation

Emit = Callable[[Deep | Set | ForEach], None]


@frozen
class Chosen:
    """What the ``at`` of a batch chose, until a field follows, something is done with it, or the user is told that it
    cannot be. Bags of chosen rows may be kept to be changed or not: programs that pick one of several do that."""

    idle: dict[int, "Address"] = field(factory=dict)
    _numbers: Iterator[int] = field(factory=count)

    def add(self, address: "Address") -> int:
        """The number of one more choice."""
        number = next(self._numbers)
        self.idle[number] = address
        return number

    def done(self, numbers: Iterable[int]) -> None:
        """Something was done with these, or the user was told that it cannot be."""
        for number in numbers:
            self.idle.pop(number, None)

    def check(self) -> None:
        """Raises BatchMisuse when rows were chosen and nothing was done with them; the message shows the last of them,
        because those before may be on its way."""
        for address in reversed(self.idle.values()):
            what, wanted = "rows were chosen, and nothing was done with them", "an insert, a delete or a set"
            raise BatchMisuse(what, where=address.shown, wanted=wanted, possible=address.forms())


@frozen
class Address:
    """Where a chain has arrived: the path of the field, its type and the steps to it. ``shown`` is how it is written,
    ``holder`` how the bag of its rows is, and ``numbers`` are those of what was chosen on the way."""

    relation: Relation
    path: str
    type: Type
    steps: tuple[Step, ...]
    label: tuple[object] | None
    emit: Emit
    chosen: Chosen
    shown: str
    holder: str = ""
    numbers: tuple[int, ...] = ()

    def told(self, error: RipplenestError) -> RipplenestError:
        """``error``, by which the user learns that this address does nothing."""
        self.chosen.done(self.numbers)
        return error

    def choose(self, row: Type, steps: tuple[Step, ...], shown: str) -> "Address":
        """Those of its rows, of type ``row``, that one more step chooses."""
        found = evolve(self, type=row, steps=steps, shown=shown, holder=self.shown)
        return evolve(found, numbers=(*self.numbers, self.chosen.add(found)))

    def table(self, verb: str, given: Iterable[object]) -> Asking | None:
        """What the steps ask for each row of a table, if they do; what is ``given`` must then be of this one."""
        where, asked = f"{verb} {self.path}", asked_of(self.steps)
        found = table_of((*asked, *given), where)
        if found is None or table_of(asked, where) is None:
            return None
        return Asking(found, self.relation.row, self.steps, where)

    def forms(self) -> list[str]:
        """What can be done from here, as it is written."""
        if isinstance(self.type, Bag):
            return _changes(self.shown)
        bags = [f"{self.shown}.{name}" for name, t in fields_of(self.type).items() if isinstance(t, Bag)]
        own = [f"{self.shown}.set(...)", *self._of_rows()] if self.label is None else []
        return [*(form for bag in bags for form in _changes(bag)), *own]

    def _of_rows(self) -> list[str]:
        """What puts the chosen rows in and takes them out."""
        part = self.relation.parts.get(self.path)
        key = spelled(part.key) if part is not None else ""
        if self.holder != self.relation.name:
            return [*_changes(self.holder), *([f"{self.holder}.delete_key({key})"] if key else [])]
        name = self.relation.name
        return [f'b.upsert("{name}", [...])', f'b.delete_key("{name}", {key})'] if key else []


def _changes(bag: str) -> list[str]:
    return [f"{bag}.insert([...])", f"{bag}.delete([...])"]


def fields_of(row: Type) -> dict[str, Type]:
    """The fields of a record, as they are where it is there; of no other row."""
    return dict(row.there.fields) if isinstance(row, Record) else {}


def or_by_key(error: WrongColumns, verb: str, forms: Mapping[str, str]) -> WrongColumns:
    """``error`` of rows without all fields, with the form that takes rows by their key, by verb, if they have one: of
    an upsert what sets the fields that there are."""
    form = forms.get(verb)
    if verb == "delete" and form is not None:
        error.possible = (*(error.possible or ()), f"or {form}")
    if verb == "upsert" and form is not None and "missing fields" in error.what and _is_of_row(error.where):
        error.possible = (*(error.possible or ()), f"or {form}.set(...), which leaves other fields as they are")
    return error


def _is_of_row(where: str) -> bool:
    """Whether it is said of rows that are given, and not of what is in them."""
    return where.rpartition(": rows")[2].partition("]")[2] == ""


def spelled(fields: Iterable[str]) -> str:
    """Fields as an address is given them."""
    return ", ".join(f"{name}=..." for name in fields)
