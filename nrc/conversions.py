"""What makes a value of a type of one that came as another: told, and never done, as it may not be what is meant."""

import math
from datetime import date, datetime
from decimal import Decimal

# Pandas makes floats of integers where NULL is among them. A float is never taken for an integer, but that can be told.
WHOLE = ("int(x)", 'in pandas astype("Int64"), whose columns have integers and NULL', "in Arrow cast(pa.int64())")
MISSING = ("NaTType", "NAType")  # of pandas, for what is not there
OF_JSON = "rn.json(rows), in which it may be a text"


def conversions(kind: str, obj: object) -> tuple[str, ...] | None:
    """What makes a value of a ``kind`` of base values of ``obj``, as Python is written; None where nothing does."""
    match kind, obj:
        case _ if type(obj).__name__ in MISSING:
            return ("None",)
        case "int" | "long", float() if obj.is_integer() or math.isnan(obj):
            return WHOLE
        case "int" | "long", bool() | str():
            return ("int(x)",)
        case "double", bool() | str() | Decimal():
            return ("float(x)",)
        case "decimal", float() if math.isfinite(obj):
            return ("decimal.Decimal(str(x))",)
        case "decimal", str():
            return ("decimal.Decimal(x)", OF_JSON)
        case "bool", int():
            return ("bool(x)",)
        case "string", int() | float() | date() | Decimal():
            return ("str(x)",)
        case "date", datetime():
            return ("x.date()",)
        case "date" | "timestamp", str():
            return (f"datetime.{'date' if kind == 'date' else 'datetime'}.fromisoformat(x)", OF_JSON)
        case "timestamp", datetime():  # of pandas, which has nanoseconds
            return ('x.floor("us")', 'of a column `.dt.floor("us")`')
        case "timestamp", date():
            return ("datetime.datetime.combine(x, datetime.time())",)
        case "binary", str():
            return ("x.encode()", OF_JSON)
        case _:
            return None
