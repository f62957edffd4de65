"""What a function says that it returns: ``-> list[Row]``, ``-> Bag[Row]``, ``-> float | None``.

Of ``-> list[Any]`` and whatever else is no type of the calculus, and of names that only type checkers know, it says
nothing. Where it says a type, what is nothing is of that; and the rows of a view are held to it, as type checkers hold
them: a value may be of less than is said, an int where a float is, never NULL where NULL may be.
"""

import inspect
from collections.abc import Iterator
from types import FunctionType

from ripplenest.nrc.errors import TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.functions.signatures import is_within
from ripplenest.nrc.surface.conversions import towards
from ripplenest.nrc.surface.python.source import Source
from ripplenest.nrc.surface.readings import BagTerm
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.types import Bag, Base, Record, Type


def declared(source: Source) -> Type | None:
    """The type that the function of ``source`` says it returns."""
    assert isinstance(source.function, FunctionType)
    hint = inspect.get_annotations(source.function).get("return")
    try:
        return None if hint is None else annotation_type(source.annotation(hint, ""), "")
    except (TypeMismatch, Unsupported, UnknownName):
        return None


def check_returned(found: BagTerm, wanted: Type) -> None:
    """Raises TypeMismatch for rows that are not those of ``wanted``."""
    differ = [*others(found.type, wanted, "")]
    if differ:
        hints = (f"{how}{f' of {at}' if at else ''}" for at, got, want in differ if (how := towards(got, want)))
        raise TypeMismatch(
            "the view returns other rows than it says",
            wanted=", ".join(f"{at}: {want}".removeprefix(": ") for at, _, want in differ),
            got=", ".join(f"{at}: {got}".removeprefix(": ") for at, got, _ in differ),
            possible=[*dict.fromkeys(hints), "`-> list[Any]`, which says nothing of rows"],
        )


def others(found: Type, wanted: Type, path: str, is_loose: bool = False) -> Iterator[tuple[str, Type, Type]]:
    """Where ``found`` has values that ``wanted`` has not, and both types there. Of records that may be NULL, fields are
    (``is_loose``)."""
    match found, wanted:
        case Record(), Record() if _alike(found, wanted):
            there = dict(wanted.there.fields)
            for name, field in found.there.fields:
                yield from others(field, there[name], f"{path}.{name}" if path else name, found.is_optional)
        case Bag(row), Bag(other) if is_loose or wanted.nullable >= found.nullable:
            yield from others(row, other, path)
        case Base(), Base() if (is_loose or wanted.nullable >= found.nullable) and is_within(found, wanted):
            return
        case _:
            yield path, found, wanted


def _alike(found: Record, wanted: Record) -> bool:
    return {*found.there.names} == {*wanted.there.names} and wanted.is_optional >= found.is_optional
