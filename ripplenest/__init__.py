"""Nested views on Spark that are kept fresh in the size of the change.

    import ripplenest as rn

    db = rn.open("state/")
    db.relation("M", Movie, key="name")
    db.load("M", rows)
    db.create(related)
    with db.batch() as b:
        b.insert("M", more)
    db.view("related").nested().show()
"""

from ripplenest.database import Database
from ripplenest.database import open_database as open
from ripplenest.explain import Explanation, explain
from ripplenest.nrc import errors
from ripplenest.nrc.dsl import Bag, Decimal, Int, View, coalesce, flatten, record, view
from ripplenest.nrc.errors import RipplenestError
from ripplenest.report import Report

__all__ = [
    "Bag",
    "Database",
    "Decimal",
    "Explanation",
    "Int",
    "Report",
    "RipplenestError",
    "View",
    "coalesce",
    "errors",
    "explain",
    "flatten",
    "open",
    "record",
    "view",
]
