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
from ripplenest.nrc.surface.python.windows import hop, tumble
from ripplenest.nrc.surface.records import record, record_type
from ripplenest.nrc.surface.rings import (
    MaxPlus,
    MaxProduct,
    MinPlus,
    Reach,
    SumProduct,
    combine,
    fold,
    moments,
    ring,
    ring_variable,
)

__all__ = [
    "Bag",
    "Decimal",
    "Int",
    "MaxPlus",
    "MaxProduct",
    "MinPlus",
    "Reach",
    "SumProduct",
    "View",
    "avg",
    "coalesce",
    "combine",
    "count",
    "difference",
    "exists",
    "flatten",
    "fold",
    "full_join",
    "group_by",
    "hop",
    "intersect",
    "left_join",
    "moments",
    "record",
    "record_type",
    "right_join",
    "ring",
    "ring_variable",
    "rows_sorted",
    "top",
    "tumble",
    "view",
]
