"""Values at the edges of every base type, and the signatures of the scalar functions over these types."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN

INF = float("inf")
I_MIN, I_MAX, L_MIN, L_MAX = -(2**31), 2**31 - 1, -(2**63), 2**63 - 1
SMALL, LARGE, WIDE, HUGE, FINE = (Base("decimal", True, p, s) for p, s in ((9, 2), (19, 6), (37, 3), (38, 3), (38, 20)))
EDGES: dict[Base, list[object]] = {
    Base("bool", True): [True, False],
    Base("int", True): [0, 1, -1, 2, 7, -7, I_MAX, I_MIN],
    Base("long", True): [0, 1, -1, 7, -7, I_MAX + 1, 2**53 + 1, L_MAX, L_MIN],
    Base("double", True): [
        *(0.0, 1.5, -1.5, 0.1, NAN, INF, -INF, 1e308, 5e-324, -5e-324, 2.0**53, 4.999999999999999),
        *(2.0**31 - 0.1, -(2.0**31) - 0.9, 2.0**31, 2.0**63, 2.0**63 - 1024, -(2.0**63), -(2.0**63) - 2048),
    ],
    SMALL: [Decimal(x) for x in ("0.00", "0.01", "-1.50", "9999999.99", "-9999999.99")],
    LARGE: [Decimal(x) for x in ("0.000000", "0.000001", "-1.500000", "2147483647.999999", "9999999999999.999999")],
    WIDE: [Decimal(x) for x in ("0.000", "1234567890123456789012345678901234.567", f"-{'9' * 34}.999")],
    HUGE: [
        Decimal(x)
        for x in (
            *("0.000", "4.999", "-0.001", "2147483647.999", "9223372036854775807.999", "-9223372036854775808.999"),
            *("12345678901234567890123456789012345.678", "-99999999999999999999999999999999999.999"),
        )
    ],
    FINE: [
        Decimal(x)
        for x in (
            *("4.99999999999999999999", "-2147483648.99999999999999999999"),
            *(f"0.{'0' * 19}1", f"{'9' * 18}.{'9' * 20}", f"-{'9' * 18}.{'9' * 19}8"),
        )
    ],
    Base("string", True): [
        *("", "a", "abc", "ABC", " a b ", "\0", "a\0b", "😀", "a😀é", "\uffff", "e\u0301", "ß", "İı", "ΣΑς"),
        *("\t x \n", "\u00a0x\u00a0", "2024-02-29", "0001-01-01", "9999-12-31"),
    ],
    Base("date", True): [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(2024, 2, 29), date(9999, 12, 31)],
    Base("timestamp", True): [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1582, 10, 10, 12, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2024, 3, 31, 2, 30, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ],
    Base("binary", True): [b"", b"\0", b"\x7f", b"\xff", b"a\0b"],
}


def signatures(fn: str) -> list[tuple[Base, ...]]:
    """All combinations of up to three types that ``fn`` takes."""
    found = []
    for types in (types for n in (1, 2, 3) for types in product(EDGES, repeat=n)):
        try:
            result_type(fn, types)
        except QueryError:
            continue
        found.append(types)
    return found
