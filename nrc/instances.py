"""Records as Python has them: instances of classes that name their fields.

Classes of attrs (``@record`` makes one), dataclasses, named tuples, models of pydantic, and the rows of Spark, of
which neither is imported.
"""

import dataclasses
from collections.abc import Mapping

import attrs


def field_names(cls: type) -> tuple[str, ...] | None:
    """The fields that all instances of ``cls`` have as attributes; None where ``cls`` names none."""
    if attrs.has(cls):
        return tuple(a.name for a in attrs.fields(cls))
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls))
    names = getattr(cls, "_fields" if issubclass(cls, tuple) else "model_fields", None)
    return tuple(names) if isinstance(names, tuple | Mapping) else None


def fields_of(obj: object) -> dict[str, object] | None:
    """The fields of a record by name; None of what is no record."""
    names = field_names(obj.__class__)
    if names is not None:
        return {name: getattr(obj, name) for name in names}
    row = getattr(obj, "__fields__", None) if isinstance(obj, tuple) else None  # each row of Spark has its own
    return dict(zip(row, obj, strict=True)) if isinstance(row, list) and isinstance(obj, tuple) else None
