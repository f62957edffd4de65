"""The scalar functions over columns: the same keys as ``nrc/functions/scalars.py``, with the same meanings.

A kernel gets its arguments as arrays of exactly the types that the table's rule took. NULL in any argument gives NULL
where the entry is strict, and whether an argument has failed is looked at here, once for all of them.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.functions import meanings
from ripplenest.nrc.functions.meanings import NEAREST
from ripplenest.nrc.types import Base
from ripplenest.vector import logic, numbers, texts, times
from ripplenest.vector.column import Column, either

Kernel = Callable[[Sequence[pa.Array], Sequence[Base], Base], Column]


def column(fn: str, args: Sequence[Column], types: Sequence[Base], result: Base) -> Column:
    """``fn`` of columns that have exactly ``types``; ``result`` is the type that the rule gave.

    Law: row by row, the value is that of ``nrc/functions/scalars.py``, and has failed where that one raises.
    """
    if fn in LAZY:
        return LAZY[fn](args, result)
    if fn not in KERNELS:
        raise UnknownName("there is no such function", got=ascii(fn), possible=[*KERNELS, *LAZY])
    found = KERNELS[fn]([a.values for a in args], types, result)
    return Column(found.values, either([*(a.failed for a in args), found.failed]))


def _plain(f: Callable[..., pa.Array]) -> Kernel:
    return logic.plain(f)


LAZY: dict[str, logic.Lazy] = {"and": logic.and_, "or": logic.or_, "if": logic.if_, "coalesce": logic.coalesce}

_INTEGERS: dict[str, numbers.Wrapped] = {
    "add": numbers.add, "sub": numbers.sub, "mul": numbers.mul, "monus": numbers.monus, "least": numbers.least,
}  # fmt: skip
_SIGNS: dict[str, numbers.Wrapped] = {"neg": numbers.neg, "abs": numbers.absolute}

KERNELS: dict[str, Kernel] = {
    "eq": _plain(logic.equal),
    "ne": _plain(lambda a, b: pc.invert(logic.equal(a, b))),
    "lt": _plain(logic.less),
    "le": _plain(lambda a, b: pc.invert(logic.less(b, a))),
    "gt": _plain(lambda a, b: logic.less(b, a)),
    "ge": _plain(lambda a, b: pc.invert(logic.less(a, b))),
    "same": _plain(logic.same),
    "not": _plain(pc.invert),
    "is_null": _plain(pc.is_null),
    "is_true": _plain(lambda a: a.fill_null(False)),
    **{f"{op}_{kind}": numbers.integer(kind, f) for op, f in (_INTEGERS | _SIGNS).items() for kind in ("int", "long")},
    "add_double": numbers.double(np.add),
    "sub_double": numbers.double(np.subtract),
    "mul_double": numbers.double(np.multiply),
    "neg_double": numbers.double(np.negative),
    "abs_double": numbers.double(np.abs),
    "div_double": numbers.div,
    "floor": numbers.double(np.floor),
    "ceil": numbers.double(np.ceil),
    "round": numbers.double(np.rint),
    "add_decimal": numbers.decimal(pc.add),
    "sub_decimal": numbers.decimal(pc.subtract),
    "mul_decimal": numbers.decimal(pc.multiply),
    "neg_decimal": numbers.decimal(pc.negate),
    "abs_decimal": numbers.decimal(pc.abs),
    "mod_int": numbers.mod,
    "mod_long": numbers.mod,
    **{f"quotient_{kind}": numbers.quotient(kind) for kind in ("int", "long")},
    "to_int": numbers.to_integer,
    "to_long": numbers.to_integer,
    "to_double": numbers.cast,
    "to_decimal": numbers.cast,
    "rounded": numbers.rounded,
    "to_string": texts.to_string,
    "to_date": texts.to_date,
    "concat": _plain(texts.concat),
    "upper": _plain(texts.mapped(meanings.UPPER_TABLE, pc.ascii_upper)),
    "lower": _plain(texts.mapped(meanings.LOWER_TABLE, pc.ascii_lower)),
    "length": _plain(texts.length),
    "trim": _plain(texts.trim),
    "substring": _plain(texts.substring),
    "replace": _plain(texts.replace),
    "starts_with": _plain(texts.by_pattern(pc.starts_with)),
    "ends_with": _plain(texts.by_pattern(pc.ends_with)),
    "contains": _plain(texts.by_pattern(pc.match_substring)),
    "year": _plain(texts.part_of_date(pc.year)),
    "month": _plain(texts.part_of_date(pc.month)),
    "day": _plain(texts.part_of_date(pc.day)),
    "days_between": _plain(times.days_between),
    "days_after": times.after,
    "micros_after": times.after,
    **{f"{op}_{kind}": numbers.nearest(is_last) for op, is_last in NEAREST.items() for kind in ("int", "long")},
    **{f"{op}_{kind}": times.nearest_after(last) for op, last in NEAREST.items() for kind in times.MOMENTS},
    **{f"tumble_{kind}": times.tumble for kind in ("long", "date", "timestamp")},
    "micros_between": _plain(times.micros_between),
    "date_of": _plain(times.date_of),
    "hour": _plain(times.part(3_600_000_000, 24)),
    "minute": _plain(times.part(60_000_000, 60)),
    "second": _plain(times.part(1_000_000, 60)),
}
