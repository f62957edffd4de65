"""Nested views on Spark that are kept fresh in the size of the change.

    import ripplenest as rn

    db = rn.open("state/")
    db.relation("M", Movie, key="name")
    db.load("M", rows)
    db.create(related)
    with db.batch() as b:
        b.insert("M", more)
    db.view("related").nested().show()

Each name is imported when it is first used: a program that only declares views loads no database.
"""

import gc
from pkgutil import resolve_name  # noqa: TID251 - of names in the table below
from typing import TYPE_CHECKING

__all__ = [
    "Bag",
    "Database",
    "Decimal",
    "Each",
    "Explanation",
    "Int",
    "MaxPlus",
    "MaxProduct",
    "MinPlus",
    "ParseError",
    "Program",
    "Reach",
    "Report",
    "RipplenestError",
    "SumProduct",
    "TextView",
    "View",
    "__version__",
    "avg",
    "coalesce",
    "combine",
    "count",
    "decimal",
    "difference",
    "each",
    "errors",
    "exists",
    "explain",
    "flatten",
    "fold",
    "full_join",
    "group_by",
    "hop",
    "intersect",
    "json",
    "left_join",
    "migrate",
    "moments",
    "open",
    "parse",
    "read",
    "record",
    "register",
    "right_join",
    "ring",
    "ring_variable",
    "sorted",
    "testing",
    "top",
    "tumble",
    "view",
]

__version__ = "0.3.0"  # pyproject.toml reads it here, without running the module

if TYPE_CHECKING:
    from ripplenest import errors, testing
    from ripplenest.api.database import Database
    from ripplenest.api.each import Each, each
    from ripplenest.api.opening import open_database as open
    from ripplenest.explanation import Explanation, explain
    from ripplenest.intake.messages import rows_of_json as json
    from ripplenest.migration.migrate import migrate
    from ripplenest.nrc.errors import ParseError, RipplenestError
    from ripplenest.nrc.surface.python import (
        Bag,
        Decimal,
        Int,
        MaxPlus,
        MaxProduct,
        MinPlus,
        Reach,
        SumProduct,
        View,
        avg,
        coalesce,
        combine,
        count,
        decimal,
        difference,
        exists,
        flatten,
        fold,
        full_join,
        group_by,
        hop,
        intersect,
        left_join,
        moments,
        record,
        right_join,
        ring,
        ring_variable,
        top,
        tumble,
        view,
    )
    from ripplenest.nrc.surface.python import rows_sorted as sorted
    from ripplenest.nrc.surface.text import Program, TextView
    from ripplenest.nrc.surface.text import parse_file as parse
    from ripplenest.nrc.surface.text import read_file as read
    from ripplenest.source.source import register
    from ripplenest.state.report import Report
else:
    _HOMES = {  # the imports above as data
        "Bag": "ripplenest.nrc.surface.python:Bag",
        "Database": "ripplenest.api.database:Database",
        "Decimal": "ripplenest.nrc.surface.python:Decimal",
        "Explanation": "ripplenest.explanation:Explanation",
        "Int": "ripplenest.nrc.surface.python:Int",
        "MaxPlus": "ripplenest.nrc.surface.python:MaxPlus",
        "MaxProduct": "ripplenest.nrc.surface.python:MaxProduct",
        "MinPlus": "ripplenest.nrc.surface.python:MinPlus",
        "ParseError": "ripplenest.nrc.errors:ParseError",
        "Program": "ripplenest.nrc.surface.text:Program",
        "Reach": "ripplenest.nrc.surface.python:Reach",
        "Report": "ripplenest.state.report:Report",
        "RipplenestError": "ripplenest.nrc.errors:RipplenestError",
        "SumProduct": "ripplenest.nrc.surface.python:SumProduct",
        "TextView": "ripplenest.nrc.surface.text:TextView",
        "View": "ripplenest.nrc.surface.python:View",
        "avg": "ripplenest.nrc.surface.python:avg",
        "coalesce": "ripplenest.nrc.surface.python:coalesce",
        "combine": "ripplenest.nrc.surface.python:combine",
        "count": "ripplenest.nrc.surface.python:count",
        "decimal": "ripplenest.nrc.surface.python:decimal",
        "Each": "ripplenest.api.each:Each",
        "each": "ripplenest.api.each:each",
        "difference": "ripplenest.nrc.surface.python:difference",
        "errors": "ripplenest.errors:",
        "exists": "ripplenest.nrc.surface.python:exists",
        "explain": "ripplenest.explanation:explain",
        "flatten": "ripplenest.nrc.surface.python:flatten",
        "fold": "ripplenest.nrc.surface.python:fold",
        "full_join": "ripplenest.nrc.surface.python:full_join",
        "group_by": "ripplenest.nrc.surface.python:group_by",
        "hop": "ripplenest.nrc.surface.python:hop",
        "intersect": "ripplenest.nrc.surface.python:intersect",
        "json": "ripplenest.intake.messages:rows_of_json",
        "left_join": "ripplenest.nrc.surface.python:left_join",
        "migrate": "ripplenest.migration.migrate:migrate",
        "moments": "ripplenest.nrc.surface.python:moments",
        "open": "ripplenest.api.opening:open_database",
        "parse": "ripplenest.nrc.surface.text:parse_file",
        "read": "ripplenest.nrc.surface.text:read_file",
        "record": "ripplenest.nrc.surface.python:record",
        "register": "ripplenest.source.source:register",
        "right_join": "ripplenest.nrc.surface.python:right_join",
        "ring": "ripplenest.nrc.surface.python:ring",
        "ring_variable": "ripplenest.nrc.surface.python:ring_variable",
        "sorted": "ripplenest.nrc.surface.python:rows_sorted",
        "testing": "ripplenest.testing:",
        "top": "ripplenest.nrc.surface.python:top",
        "tumble": "ripplenest.nrc.surface.python:tumble",
        "view": "ripplenest.nrc.surface.python:view",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = _imported(_HOMES[name])
        return found

    def _imported(home):
        """Modules are no garbage: to look for some, again and again while they are made, is a fifth of an import."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return resolve_name(home)
        finally:
            if collects:
                gc.enable()

    def __dir__():
        return [*__all__]
