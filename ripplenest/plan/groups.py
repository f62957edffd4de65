"""How the rows of a group, or of a sum map, are folded, said in columns.

What products make of a group, its *contributions*, are rows label, k…, v…; what is kept of them is a row for each
label and key that has some: label, k…, the answers, how many rows there are, and the accumulators. So what readers see
are the first columns of what is stored, and both begin with the key. An accumulator is a sum over some rows: of 1, or
of the product of its arguments, as integers without a point, whose scale is known; of doubles it is exact
(``nrc/functions/reals.py``), and those that are not finite are counted.

A sum map is a group whose answers nobody sees: of each product of columns a sum, and how many rows have a value there.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from attrs import evolve, frozen

from ripplenest.data.columns import base_types
from ripplenest.data.labels import width
from ripplenest.delta.groups.pull import FOLDED
from ripplenest.delta.groups.strata import KEY, VALUES, Answer, Cut
from ripplenest.delta.program import Map
from ripplenest.nrc.functions.folds import has_room, kept_sum
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, Base, Label, Record, Type, may_be_null
from ripplenest.nrc.values import MAX_DIGITS
from ripplenest.nrc.walk import Names
from ripplenest.plan.lower import over_row
from ripplenest.plan.product import Col, Scalar

UNSCALED = Base("decimal", False, MAX_DIGITS, 0)  # Spark's · keeps the scale 0, and raises on overflow
EXACT_REAL = Base("binary")
ENDLESS = Base("binary")  # nrc/functions/integers.py
SPECIAL: tuple[Literal["nan"], Literal["inf"], Literal["-inf"]] = ("nan", "inf", "-inf")


@frozen
class Accumulator:
    """A sum over rows, by what the columns ``args`` of contributions are in them: ``rows`` in which none is NULL,
    ``true`` ones; or, of rows in which none is NULL, the ``sum`` of their product, which is ``endless`` where it may
    have more than 38 digits; of the doubles of one column the sum of the finite ones (``real``), and how many are
    something else."""

    args: tuple[int, ...]
    of: Literal["rows", "true", "sum", "endless", "real", "nan", "inf", "-inf"]

    @property
    def type(self) -> Base:
        return {"sum": UNSCALED, "endless": ENDLESS, "real": EXACT_REAL}.get(self.of, LONG)


ROWS = Accumulator((), "rows")


@frozen
class Answered:
    """The fold ``fn`` as a function of the accumulators: how many rows it is about, and of a sum what they come to,
    with ``scale`` digits behind the point; and of doubles, how many are NaN, ∞ and -∞. The first accumulator counts all
    rows."""

    fn: str
    type: Base
    count: int
    total: int | None = None
    scale: int = 0
    special: tuple[int, int, int] | None = None


@frozen
class Folding:
    """How contributions become rows. ``keys`` columns of both are the key, of which ``places`` are the label; the first
    accumulator says how many rows there are. What readers see of the ``answers`` are the scalars ``shown`` over these,
    as columns of source 0; ``nothing`` is what they see of a place without a stored row, of a fold that has a row for
    every place."""

    places: int
    keys: int
    answers: tuple[Answered, ...]
    accumulators: tuple[Accumulator, ...]
    made: tuple[Base, ...]
    types: tuple[Base, ...]
    nothing: tuple[object, ...] | None
    shown: tuple[Scalar, ...]

    @property
    def is_plain(self) -> bool:
        """Whether readers see the answers as they are."""
        return self.shown == tuple(Col(0, i, a.type) for i, a in enumerate(self.answers))

    @property
    def is_endless(self) -> bool:
        """Whether it has sums that no answer can show, which only sum maps have."""
        return any(a.of == "endless" for a in self.accumulators)

    @property
    def visible(self) -> tuple[Base, ...]:
        """The types of what readers see: the key, and what is shown."""
        return self.types[: self.keys + len(self.shown)]

    @property
    def piece_sums(self) -> tuple[Accumulator, ...]:
        """The accumulators of what some contributions add, which may have more digits than all of them come to."""
        return tuple(a if a.of == "real" else evolve(a, of="endless") for a in self.accumulators)

    @property
    def piece_types(self) -> tuple[Base, ...]:
        """The types of what some contributions add: the key, and these."""
        return (*self.types[: self.keys], *(a.type for a in self.piece_sums))


def folding(cut: Cut) -> Folding:
    """The columns of the map of a group."""
    made, visible = base_types(cut.made), base_types(cut.visible)
    keys = len(visible) - len(cut.shown)
    row = cut.made.get("row")
    assert isinstance(row, Record)
    values = row.get(VALUES)
    assert isinstance(values, Record) and isinstance(row.get(KEY), Record)
    accumulators: dict[Accumulator, int] = {ROWS: 0}
    answers = [_answered(a, tuple(keys + i for i in a.args), made, accumulators) for a in cut.answers]
    types = (*visible, *(a.type for a in accumulators))
    nothing = tuple(lit.value for _, lit in cut.of_nothing) if cut.total else None
    shown = tuple(over_row(t, FOLDED, cut.answered) for _, t in cut.shown)
    places = width(Label((cut.site,)))
    return Folding(places, keys, tuple(answers), tuple(accumulators), made, types, nothing, shown)


def summing(m: Map) -> Folding:
    """The columns of a sum map, of which statements see what ``run/marginals.py`` says."""
    made, seen = base_types(m.made), base_types(m.row)
    keys = len(made) - len(m.factors)
    accumulators: dict[Accumulator, int] = {ROWS: 0}
    places = iter(range(keys, len(made)))
    args = [tuple(islice(places, len(monomial))) for monomial in m.summed]
    answers = tuple(_added_up(own, seen[own[0]], made, accumulators) for own in args)
    types = (*made[:keys], *(a.type for a in accumulators))
    return Folding(0, keys, answers, tuple(accumulators), made, types, None, ())


def _added_up(args: tuple[int, ...], t: Base, made: Sequence[Base], found: dict[Accumulator, int]) -> Answered:
    """A sum that nobody sees, however many digits it has; a ``t`` is what tells the digits of it."""
    of: Literal["sum", "endless"] = "sum" if has_room([made[i] for i in args]) else "endless"
    return Answered("sum", t, _count(args, made, found), _place(Accumulator(args, of), found), t.scale)


def folding_of(m: Map) -> Folding | None:
    """How rows of a map are folded; None for one whose rows are kept as they are."""
    if m.summed:
        return summing(m)
    return None if m.group is None else folding(m.group)


def stored_row(m: Map) -> Type:
    """What users are shown of stored rows: of what is folded the keys, what readers see, and what is added up."""
    own = folding_of(m)
    if own is None:
        return m.row
    assert isinstance(m.row, Record)
    named = m.factors or tuple(f"a{i}" for i in range(len(own.made) - own.keys))
    seen = tuple(field for field in m.row.fields if field[0] not in m.factors)
    names = Names(frozenset(name for name, _ in seen))
    added = ("_".join((a.of, *(named[i - own.keys] for i in a.args))) for a in own.accumulators)
    return Record((*seen, *((names.fresh(n), a.type) for n, a in zip(added, own.accumulators, strict=True))))


def contributed(m: Map, products: Iterable[Comprehension]) -> Type:
    """The rows that such ``products`` make of a map: those of its term, with sums where values come from sum maps."""
    if m.group is None:
        return m.row if m.ranking is None else m.made
    row = _field(m.made, "row")
    values = base_types(_field(row, VALUES))
    own = [values[i] for i in m.origins] if m.apart else values
    read = [_field(_field(elem_type(c.head, c.variables()), "row"), VALUES) for c in products]
    wide = (_widest(t, [r.fields[i][1] for r in read]) for i, t in enumerate(own))
    return _with(m.made, "row", _with(row, VALUES, Record(tuple((f"a{i}", t) for i, t in enumerate(wide)))))


def of_statements(f: Folding, m: Map, made: tuple[Base, ...]) -> Folding:
    """How rows of types ``made`` are folded, which statements make of a map whose own rows ``f`` folds."""
    if not m.apart:
        return evolve(f, made=made)
    assert m.group is not None
    args = (_behind(f.keys, a.args) for a in m.group.answers)
    factors = [*zip(args, (_behind(f.keys, own) for own in m.apart), strict=True)]
    return evolve(f, made=made, accumulators=tuple(_apart(a, f, factors) for a in f.accumulators))


def _behind(keys: int, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(keys + i for i in places)


def _apart(a: Accumulator, f: Folding, factors: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> Accumulator:
    """``a`` of the columns that an answer has which it is for, where these stand elsewhere."""
    for args, own in factors:
        if a.args == (_optional(args, f.made) if a.of == "rows" else args):
            place = dict(zip(args, own, strict=True))
            return evolve(a, args=tuple(place[c] for c in a.args) if a.of == "rows" else own)
    return a


def _field(t: Type, name: str) -> Record:
    assert isinstance(t, Record)
    found = t.get(name)
    assert isinstance(found, Record)
    return found


def _with(t: Type, name: str, other: Type) -> Record:
    assert isinstance(t, Record)
    return Record(tuple((n, other if n == name else own) for n, own in t.fields))


def _widest(own: Type, read: Sequence[Type | None]) -> Type:
    assert isinstance(own, Base)
    sums = kept_sum(own)
    return own if sums is None or sums not in read else sums


def _answered(a: Answer, args: tuple[int, ...], made: Sequence[Base], found: dict[Accumulator, int]) -> Answered:
    """``a`` by the accumulators ``found``, to which it adds what it asks for."""
    if a.fn in ("any", "all"):
        return Answered(a.fn, a.type, _place(Accumulator(args, "true") if args else ROWS, found))
    count = _count(args, made, found)
    if a.fn == "count":
        return Answered(a.fn, a.type, count)
    if made[args[0]].kind == "double":
        total = _place(Accumulator(args, "real"), found)
        nan, above, below = (_place(Accumulator(args, of), found) for of in SPECIAL)
        return Answered(a.fn, a.type, count, total, special=(nan, above, below))
    total = _place(Accumulator(args, "sum"), found)
    return Answered(a.fn, a.type, count, total, sum(made[c].scale for c in args))


def _count(args: tuple[int, ...], made: Sequence[Base], found: dict[Accumulator, int]) -> int:
    """In how many rows none of ``args`` is NULL."""
    return _place(Accumulator(_optional(args, made), "rows"), found)


def _optional(args: Iterable[int], made: Sequence[Base]) -> tuple[int, ...]:
    return tuple(sorted({c for c in args if may_be_null(made[c])}))


def _place(wanted: Accumulator, found: dict[Accumulator, int]) -> int:
    return found.setdefault(wanted, len(found))
