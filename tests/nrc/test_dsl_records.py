"""``@record``: the type of every annotation, where names are found, and what cannot be a field."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import typing
from typing import Annotated

import pytest

from ripplenest.nrc import types as t
from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.surface.python import Bag, Decimal, Int, record, record_type
from ripplenest.nrc.surface.records import annotation_type


@record
class Movie:
    name: str
    gen: str | None
    dir: str | None


MOVIE, DRIVE = record_type(Movie), Movie("Drive", "Drama", "Refn")


def test_record_types() -> None:
    @record
    class All:
        a: bool
        b: int
        c: Int
        d: float | None
        e: str
        f: bytes
        g: dt.date
        h: dt.datetime
        i: Decimal[10, 2] | None
        j: Annotated[decimal.Decimal, t.Base("decimal", precision=5, scale=1)]
        k: Bag[Bag[str | None]]
        m: Bag[Movie] | None
        o: Movie

    assert str(record_type(All)) == (
        "⟨a: bool, b: long, c: int, d: double?, e: string, f: binary, g: date, h: timestamp, i: decimal(10,2)?, "
        f"j: decimal(5,1), k: Bag(Bag(string?)), m: Bag({MOVIE})?, o: {MOVIE}⟩"
    )


def test_a_record_is_a_frozen_attrs_class() -> None:
    assert Movie(name="Drive", gen="Drama", dir="Refn") == DRIVE
    assert hash(DRIVE) == hash(Movie("Drive", "Drama", "Refn"))
    with pytest.raises(AttributeError):
        DRIVE.name = "x"  # type: ignore[misc]


def test_names_and_values_of_fields() -> None:
    """Each row has a list of its own, fields are called as they are, and the first that has no value is named."""

    @record
    class Document:
        id: int
        _id: int = 3
        tags: list[str] = []  # noqa: RUF012 - as users write it

    one, other = Document(1), Document(id=2, _id=4)
    one.tags.append("x")
    assert (one._id, other._id, other.tags) == (3, 4, []) and list(record_type(Document).names) == ["id", "_id", "tags"]
    late = type("Late", (), {"__annotations__": {"a": int, "b": str}, "a": 1})
    with pytest.raises(Unsupported, match="a field without a value behind one with\n  got      b"):
        record(late)


def test_local_records_forward_references_and_inheritance() -> None:
    @record
    class Outer:
        inner: Bag[Inner]

    @record
    class Inner:
        x: int

    @record
    class Longer(Inner):
        y: str

    assert record_type(Outer) == t.Record((("inner", t.Bag(t.Record((("x", t.LONG),)))),))
    assert record_type(Longer) == t.Record((("x", t.LONG), ("y", t.STRING)))


def test_a_record_that_may_be_null() -> None:
    """It has NULL in every field where it is not there, and says which are NULL nowhere else."""
    around = record(type("Around", (), {"__annotations__": {"inner": Bag[Movie]}}))
    found = annotation_type(around | None, "x")
    assert found == t.Record(((t.EXISTS, t.BOOL), ("inner", t.Bag(record_type(Movie), True))))
    assert isinstance(found, t.Record) and found.firm == ("inner",)
    assert found.there == record_type(around) and str(found) == f"⟨inner: Bag({record_type(Movie)})⟩?"


def _annotated(annotation: object) -> type:
    return type("Bad", (), {"__annotations__": {"x": annotation}})


@pytest.mark.parametrize(
    ("annotation", "error", "hint"),
    [
        (set[int], Unsupported, "Bag[...]"),
        (list, TypeMismatch, "got      list\n  possible Bag[Movie], list[Movie]"),
        (typing.List, TypeMismatch, "list[Movie]"),  # noqa: UP006
        (list[int] | list[str], Unsupported, "X | None"),
        (list[complex], Unsupported, "list[X]"),
        (decimal.Decimal, Unsupported, "possible rn.Decimal[10, 2], which says how many digits"),
        (Decimal, Unsupported, "possible rn.Decimal[10, 2], which says how many digits"),
        (Bag, TypeMismatch, "Bag[Movie]"),
        (int | str, Unsupported, "X | None"),
        (complex, Unsupported, "Bag[X]"),
        ("int +", Unsupported, "Bag[X]"),
    ],
)
def test_bad_annotations_name_class_and_field(annotation: object, error: type[Exception], hint: str) -> None:
    with pytest.raises(error) as caught:
        record(_annotated(annotation))
    assert str(caught.value).startswith("Bad.x: ") and hint in str(caught.value)


def test_records_that_have_no_type() -> None:
    @record
    class Node:
        children: Bag[Node]

    with pytest.raises(Unsupported, match="contains itself"):
        record_type(Node)
    with pytest.raises(Unsupported, match="decorated with @record"):
        record_type(int)
    with pytest.raises(Unsupported, match="annotated fields"):
        record(type("NoFields", (), {}))
    with pytest.raises(TypeMismatch, match="digits"):
        _ = Decimal[2, 3]


def test_a_default_of_a_dataclass_is_refused() -> None:
    """It would be an object that no list is."""
    with pytest.raises(Unsupported, match="a default of a dataclass") as caught:

        @record
        class Tagged:
            tags: Bag[str] = dataclasses.field(default_factory=list)

    assert "Tagged.tags: " in str(caught.value) and "`= []`" in str(caught.value)
