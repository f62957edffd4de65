"""The Python surface: ``@record`` and ``@view``, read from source as typed terms of the calculus."""

from ripplenest.nrc.dsl.functions import coalesce, flatten
from ripplenest.nrc.dsl.markers import Bag, Decimal, Int
from ripplenest.nrc.dsl.records import record, record_type
from ripplenest.nrc.dsl.view import View, view

__all__ = ["Bag", "Decimal", "Int", "View", "coalesce", "flatten", "record", "record_type", "view"]
