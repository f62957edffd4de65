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

from ripplenest.api.database import Database
from ripplenest.api.database import open_database as open
from ripplenest.explanation import Explanation, explain
from ripplenest.nrc import errors
from ripplenest.nrc.errors import ParseError, RipplenestError
from ripplenest.nrc.surface.python import Bag, Decimal, Int, View, coalesce, flatten, record, view
from ripplenest.nrc.surface.text import Program, TextView
from ripplenest.nrc.surface.text import parse_file as parse
from ripplenest.nrc.surface.text import read_file as read
from ripplenest.state.report import Report

__all__ = [
    "Bag",
    "Database",
    "Decimal",
    "Explanation",
    "Int",
    "ParseError",
    "Program",
    "Report",
    "RipplenestError",
    "TextView",
    "View",
    "coalesce",
    "errors",
    "explain",
    "flatten",
    "open",
    "parse",
    "read",
    "record",
    "view",
]
