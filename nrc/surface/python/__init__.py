"""The Python surface: ``@record`` and ``@view``, read from source as typed terms of the calculus."""

from ripplenest.nrc.surface.markers import Bag, Decimal, Int
from ripplenest.nrc.surface.python.functions import (
    avg,
    coalesce,
    count,
    difference,
    exists,
    flatten,
    full_join,
    group_by,
    intersect,
    left_join,
    right_join,
    rows_sorted,
    top,
)
from ripplenest.nrc.surface.python.view import View, view
from ripplenest.nrc.surface.records import record, record_type

__all__ = [
    "Bag",
    "Decimal",
    "Int",
    "View",
    "avg",
    "coalesce",
    "count",
    "difference",
    "exists",
    "flatten",
    "full_join",
    "group_by",
    "intersect",
    "left_join",
    "record",
    "record_type",
    "right_join",
    "rows_sorted",
    "top",
    "view",
]
