"""The Python surface: ``@record`` and ``@view``, read from source as typed terms of the calculus."""

from ripplenest.nrc.surface.markers import Bag, Decimal, Int
from ripplenest.nrc.surface.python.functions import coalesce, difference, flatten, intersect
from ripplenest.nrc.surface.python.view import View, view
from ripplenest.nrc.surface.records import record, record_type

__all__ = [
    "Bag",
    "Decimal",
    "Int",
    "View",
    "coalesce",
    "difference",
    "flatten",
    "intersect",
    "record",
    "record_type",
    "view",
]
