"""The types A^F and A^Γ (nrc-ivm, section 5.1) and the context trees that hold dictionaries.

``Base^F = Base``, ``⟨…⟩^F`` field by field, ``Bag(C)^F = 𝕃``; ``Bag(C)^Γ = (𝕃 ↦ Bag(C^F)) × C^Γ``. A context is a
tree of the shape of the nested type, with one dictionary for each bag.
"""

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.syntax import DictEmpty, DictExpr, DictRel, DictUnion, input_label
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type


@frozen
class NoContext:
    """Base^Γ = 1."""


@frozen
class RecordContext:
    """⟨f: A⟩^Γ: one context a field."""

    fields: tuple[tuple[str, "Context"], ...]

    def get(self, name: str) -> "Context":
        return dict(self.fields)[name]


@frozen
class BagContext:
    """Bag(C)^Γ: the dictionary of this bag's labels, and the context of its rows."""

    dictionary: DictExpr
    rows: "Context"


Context = NoContext | RecordContext | BagContext


def child_path(path: str, name: str) -> str:
    """The name of the part below ``path``: ``Customers.orders.items``. Rows of a bag of bags are called ``[]``."""
    return f"{path}.{name}"


def flat_type(a: Type, path: str | None) -> Type:
    """A^F for values stored under ``path``; with no path, labels of no site (for ∅).

    ∅ holds no NULL either. If its labels allowed one, a label made beside it would too, and columns could not tell a
    label whose values are NULL from no label at all.
    """
    match a:
        case Base() | Label():
            return a
        case Record(fields):
            return Record(tuple((n, flat_type(t, path and child_path(path, n))) for n, t in fields))
        case Bag(_, null):
            return Label(()) if path is None else input_label(path, null)
        case Dict():
            return a
        case _:
            assert_never(a)


def flat_row(row: Type, path: str | None) -> Type:
    """C^F for the rows of the bag stored under ``path``."""
    return flat_type(row, path and child_path(path, "[]") if isinstance(row, Bag) else path)


def stored_context(a: Type, path: str) -> Context:
    """A^Γ of an input: the stored dictionaries of every bag below ``path``."""
    match a:
        case Base() | Label() | Dict():
            return NoContext()
        case Record(fields):
            return RecordContext(tuple((n, stored_context(t, child_path(path, n))) for n, t in fields))
        case Bag(row):
            return BagContext(DictRel(path, flat_row(row, path)), rows_context(row, path))
        case _:
            assert_never(a)


def rows_context(row: Type, path: str) -> Context:
    """The context of the rows of the bag stored under ``path``."""
    return stored_context(row, child_path(path, "[]") if isinstance(row, Bag) else path)


def empty_context(a: Type) -> Context:
    """∅_{A^Γ}: dictionaries without any label."""
    match a:
        case Base() | Label() | Dict():
            return NoContext()
        case Record(fields):
            return RecordContext(tuple((n, empty_context(t)) for n, t in fields))
        case Bag(row):
            return BagContext(DictEmpty(flat_row(row, None)), empty_context(row))
        case _:
            assert_never(a)


def union(a: Context, b: Context) -> Context:
    """a ∪ b, dictionary by dictionary (nrc-ivm, figure 6, the rule of ⊎)."""
    match a, b:
        case BagContext(d, rows), BagContext(e, others):
            return BagContext(d if d == e else DictUnion(d, e), union(rows, others))
        case RecordContext(fields), RecordContext():
            return RecordContext(tuple((n, union(c, b.get(n))) for n, c in fields))
        case _:
            return a


def dictionaries(c: Context) -> Iterator[DictExpr]:
    """Every dictionary of a context, outer ones first."""
    match c:
        case NoContext():
            return
        case RecordContext(fields):
            for _, inner in fields:
                yield from dictionaries(inner)
        case BagContext(d, rows):
            yield d
            yield from dictionaries(rows)
        case _:
            assert_never(c)


def stored_parts(name: str, row: Type) -> dict[str, Type]:
    """Every part that relation ``name`` is stored in: its flat bag and each dictionary, with their flat row types.

    The first entry is the flat part; the others are dictionaries, outer ones first.
    """
    parts = {name: flat_row(row, name)}
    for d in dictionaries(rows_context(row, name)):
        if isinstance(d, DictRel):
            parts[d.name] = d.row
    return parts
