"""Rows as they are compared with what Python makes of the same: bags in one order, records and tuples as dicts."""

from typing import Any

from ripplenest.nrc.instances import fields_of


def in_order(found: Any) -> Any:
    """The same of rows that are the same, in whatever order their bags come."""
    if isinstance(found, list):
        return sorted((in_order(x) for x in found), key=repr)
    if isinstance(found, tuple):
        return {f"_{i}": in_order(x) for i, x in enumerate(found, 1)}
    fields = fields_of(found) or (found if isinstance(found, dict) else None)
    return found if fields is None else {name: in_order(x) for name, x in fields.items()}
