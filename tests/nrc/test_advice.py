"""Advice is true: what a view cannot contain is refused with a form that compiles, and that gives the rows that were
meant, also where the view is kept: terms that are evaluated are refused there that are no view."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.written import module

import ripplenest as rn
from ripplenest.nrc.errors import QueryError, Unsupported

HEAD = """\
import datetime, decimal, enum, functools, itertools, math
from decimal import Decimal
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Item:
    n: int
    price: rn.Decimal[10, 2]

@rn.record
class Order:
    k: int
    n: int
    w: float
    name: str
    total: rn.Decimal[10, 2]
    fee: rn.Decimal[6, 4]
    maybe: rn.Decimal[10, 2] | None
    day: datetime.date
    at: datetime.datetime
    items: Bag[Item]

@rn.record
class Customer:
    id: int
    name: str

T = datetime.datetime(2024, 1, 1, 23, tzinfo=datetime.UTC)

"""

ITEMS = [{"n": 1, "price": Decimal("2.00")}, {"n": 2, "price": Decimal("3.00")}, {"n": 3, "price": Decimal("1.00")}]
AT = datetime(2024, 1, 3, 1, tzinfo=UTC)
ONE = {
    "k": 1, "n": 7, "w": 2.5, "name": "ab", "total": Decimal("10.50"), "fee": Decimal("0.1250"), "maybe": None,
    "day": date(2024, 3, 5), "at": AT, "items": ITEMS,
}  # fmt: skip
TWO = {**ONE, "k": 2, "n": -7, "total": Decimal("-3.25"), "items": []}
ORDERS, CUSTOMERS = [ONE, TWO], [{"id": 1, "name": "ann"}]


def D(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


Case = tuple[str, str, str, list[Any]]
"""An expression, part of the message that it is refused with, what is written then, and its rows."""

DIGITS: list[Case] = [
    (
        "[max(o.total, o.total * 2) for o in O]",
        "max does not take these types|(decimal(10,2), decimal(12,2))|`rn.decimal(x, 12, 2)` of decimal(10,2)",
        "[max(rn.decimal(o.total, 12, 2), o.total * 2) for o in O]",
        D("-3.25", "21.00"),
    ),
    (
        "[min(o.total, o.total * 2, o.fee) for o in O]",
        "min does not take|`rn.decimal(x, 14, 4)` of decimal(10,2), decimal(12,2) and decimal(6,4)",
        "[min(rn.decimal(o.total, 14, 4), rn.decimal(o.total * 2, 14, 4), rn.decimal(o.fee, 14, 4)) for o in O]",
        D("-6.5000", "0.1250"),
    ),
    (
        "[max(o.total, o.n) for o in O]",
        "max does not take|`rn.decimal(x, 22, 2)` of decimal(10,2) and long; or fewer digits of each",
        "[max(rn.decimal(o.total, 22, 2), rn.decimal(o.n, 22, 2)) for o in O]",
        D("-3.25", "10.50"),
    ),
    (
        "[max(o.total, o.n) for o in O]",
        "or fewer digits of each, where these are enough",
        "[max(o.total, rn.decimal(o.n, 10, 2)) for o in O]",
        D("-3.25", "10.50"),
    ),
    (
        "[o.total if o.n > 0 else o.total * 2 for o in O]",
        "a if c else b does not take|both sides of one type, which decimal(10,2) and decimal(12,2) are not: `rn.deci",
        "[rn.decimal(o.total, 12, 2) if o.n > 0 else o.total * 2 for o in O]",
        D("-6.50", "10.50"),
    ),
    (
        "[rn.coalesce(o.maybe, o.total * 2) for o in O]",
        "values of one type, which decimal(10,2) and decimal(12,2) are not: `rn.decimal(x, 12, 2)` of decimal(10,2);",
        "[rn.coalesce(rn.decimal(o.maybe, 12, 2), o.total * 2) for o in O]",
        D("-6.50", "21.00"),
    ),
    (
        "[o.maybe or o.n for o in O]",
        "`rn.decimal(x, 22, 2)` of decimal(10,2) and long",
        "[rn.decimal(o.maybe, 22, 2) or rn.decimal(o.n, 22, 2) for o in O]",
        D("-7.00", "7.00"),
    ),
    (
        "[x for o in O for x in [o.total, o.total * 2]]",
        "`rn.decimal(x, 12, 2)` of decimal(10,2)",
        "[x for o in O for x in [rn.decimal(o.total, 12, 2), o.total * 2]]",
        D("-6.50", "-3.25", "10.50", "21.00"),
    ),
    (
        '[{"a": o.total} for o in O] + [{"a": o.total * Decimal("0.2")} for o in O]',
        "a is decimal(10,2) and decimal(12,3)|`rn.decimal(x, 12, 3)` of decimal(10,2); or fewer",
        '[{"a": o.total} for o in O] + [{"a": rn.decimal(o.total * Decimal("0.2"), 10, 2)} for o in O]',
        [{"a": x} for x in D("-3.25", "-0.65", "2.10", "10.50")],
    ),
    (
        "[rn.decimal(o.n, 38) if o.n > 0 else o.total for o in O]",
        "`rn.decimal(x, 38, 2)` of decimal(38,0) and decimal(10,2)",
        "[rn.decimal(rn.decimal(o.n, 38), 38, 2) if o.n > 0 else rn.decimal(o.total, 38, 2) for o in O]",
        D("-3.25", "7.00"),
    ),
    ("[x for o in O for x in [o.n, o.w]]", "`float(x)` of long", "[x for o in O for x in [float(o.n), o.w]]",
     [-7.0, 2.5, 2.5, 7.0]),
    ("[x for o in O for x in [o.total, o.w]]", "`float(x)` of decimal(10,2)",
     "[x for o in O for x in [float(o.total), o.w]]", [-3.25, 2.5, 2.5, 10.5]),
    ("[x for o in O for x in [o.k, o.name]]", "`str(x)` of long", "[x for o in O for x in [str(o.k), o.name]]",
     ["1", "2", "ab", "ab"]),
    ("[rn.coalesce(o.name, o.day) for o in O]", "string and date are not: `str(x)` of date",
     "[rn.coalesce(o.name, str(o.day)) for o in O]", ["ab", "ab"]),
    ("[o.day if o.n > 0 else o.at for o in O]", "`t.date()`, the date of a timestamp",
     "[o.day if o.n > 0 else o.at.date() for o in O]", [date(2024, 1, 3), date(2024, 3, 5)]),
    ("[o.n > 0 if o.k > 1 else o.n for o in O]", "`1 if x else 0`",
     "[(1 if o.n > 0 else 0) if o.k > 1 else o.n for o in O]", [0, 7]),
]  # fmt: skip

OF_DECIMALS: list[Case] = [
    ("[round(o.total, 2) for o in O]", "`rn.decimal(x, 10, 2)`, away from 0", "[rn.decimal(o.total, 10, 2) for o in O]",
     D("-3.25", "10.50")),
    ("[round(o.total, 1) for o in O]", "`rn.decimal(x, 10, 1)`", "[rn.decimal(o.total, 10, 1) for o in O]",
     D("-3.3", "10.5")),
    ("[round(o.total * 2, 3) for o in O]", "`rn.decimal(x, 13, 3)`", "[rn.decimal(o.total * 2, 13, 3) for o in O]",
     D("-6.500", "21.000")),
    ("[round(o.total, -1) for o in O]", "`round(x / 10) * 10`", "[round(o.total / 10) * 10 for o in O]", [0, 10]),
    ("[round(o.w, 1) for o in O]", "`round(x * 10) / 10`", "[round(o.w * 10) / 10 for o in O]", [2.5, 2.5]),
    ("[round(o.w, o.n) for o in O]", "`round(x * 100) / 100`", "[round(o.w * 100) / 100 for o in O]", [2.5, 2.5]),
    ("[round(o.n, 2) for o in O]", "the number itself", "[o.n for o in O]", [-7, 7]),
    ("[o.total.quantize(Decimal('0.01')) for o in O]", "`rn.decimal(x, 10, 2)`",
     "[rn.decimal(o.total, 10, 2) for o in O]", D("-3.25", "10.50")),
    ("[round(o.total) for o in O]", "`int(rn.decimal(x, 9))`", "[int(rn.decimal(o.total, 9)) for o in O]", [-3, 11]),
    ("[math.floor(o.total) for o in O]", "`int(x * 100) // 100`", "[int(o.total * 100) // 100 for o in O]", [-4, 10]),
    ("[math.ceil(o.total) for o in O]", "`-(int(x * -100) // 100)`", "[-(int(o.total * -100) // 100) for o in O]",
     [-3, 11]),
    ("[o.total % 3 for o in O]", '`rn.decimal(int(a * 100) % int(b * 100), 18) * decimal.Decimal("0.01")`',
     '[rn.decimal(int(o.total * 100) % int(3 * 100), 18) * decimal.Decimal("0.01") for o in O]', D("-0.25", "1.50")),
    ("[o.total % o.fee for o in O]", 'int(a * 10000) % int(b * 10000), 18) * decimal.Decimal("0.0001")`',
     '[rn.decimal(int(o.total * 10000) % int(o.fee * 10000), 18) * decimal.Decimal("0.0001") for o in O]',
     D("0.0000", "0.0000")),
    ("[rn.decimal(o.total, 9) % 3 for o in O]", "`rn.decimal(int(a) % int(b), 18)`",
     "[rn.decimal(int(rn.decimal(o.total, 9)) % int(3), 18) for o in O]", D("0", "2")),
    ("[o.total // 3 for o in O]", "`int(a * 100) // int(b * 100)`, which is rounded down",
     "[int(o.total * 100) // int(3 * 100) for o in O]", [-2, 3]),
    ("[o.w % 2 for o in O]", "`a - b * math.floor(a / b)`", "[o.w - 2 * math.floor(o.w / 2) for o in O]", [0.5, 0.5]),
    ("[o.w // o.total for o in O]", "`math.floor(a / b)`", "[math.floor(o.w / o.total) for o in O]", [-1, 0]),
]  # fmt: skip

NOBODY = "[c.name for c in C if c.id == o.k]"
OTHERS: list[Case] = [
    (f"[{{'a': {NOBODY} or ['unknown']}} for o in O]", "`xs if rn.exists(xs) else ['unknown']`: that where it has none",
     f"[{{'a': xs if rn.exists(xs) else ['unknown']}} for o in O for xs in [{NOBODY}]]",
     [{"a": ["ann"]}, {"a": ["unknown"]}]),
    (f"[{{'a': {NOBODY} or ['unknown']}} for o in O]", "`rn.coalesce(xs, ys)`: ys where it is None",
     f"[{{'a': rn.coalesce({NOBODY}, ['unknown'])}} for o in O]", [{"a": []}, {"a": ["ann"]}]),
    (f"[{{'a': {NOBODY} and ['known']}} for o in O]", "`ys if rn.exists(xs) else xs`: ys where it has one",
     f"[{{'a': ['known'] if rn.exists(xs) else xs}} for o in O for xs in [{NOBODY}]]", [{"a": []}, {"a": ["known"]}]),
    ("[(o.at - T).days for o in O]", "`math.floor((a - b).total_seconds() / 86400)`, of 24 hours each; `(a.date()",
     "[math.floor((o.at - T).total_seconds() / 86400) for o in O]", [1, 1]),
    ("[(o.at - T).days for o in O]", "`(a.date() - b.date()).days`, of dates: how many midnights lie between",
     "[(o.at.date() - T.date()).days for o in O]", [2, 2]),
    ("[(o.at - o.day).days for o in O]", "possible `(a.date() - b).days`", "[(o.at.date() - o.day).days for o in O]",
     [-62, -62]),
    ("[o.n >> 1 for o in O]", "`x // 2`", "[o.n // 2 for o in O]", [-4, 3]),
    ("[o.n << 1 for o in O]", "`x * 2`", "[o.n * 2 for o in O]", [-14, 14]),
    ("[divmod(o.n, 2) for o in O]", "`a // b` and `a % b`, which has the sign of a",
     "[(o.n // 2, o.n % 2) for o in O]", [{"_1": -4, "_2": -1}, {"_1": 3, "_2": 1}]),
    ("[o.n > 3 and 'a' or 'b' for o in O]", "`'a' if o.n > 3 else ...`, with what it is where that is not so",
     "['a' if o.n > 3 else 'b' for o in O]", ["a", "b"]),
    ("[o.n > 3 and o.k > 0 and 1 or 2 for o in O]", "`1 if o.n > 3 and o.k > 0 else ...`",
     "[1 if o.n > 3 and o.k > 0 else 2 for o in O]", [1, 2]),
    ("[max([i.price for i in o.items] or [Decimal(0)]) for o in O]", "`max(xs, default=Decimal(0))`, and so of `min`",
     "[max([i.price for i in o.items], default=Decimal(0)) for o in O]", D("0.00", "3.00")),
    ("[{'a': [i.price for i in o.items] or [Decimal(0)]} for o in O]",
     "`xs if rn.exists(xs) else [rn.decimal(Decimal(0), 10, 2)]`",
     "[{'a': xs if rn.exists(xs) else [rn.decimal(Decimal(0), 10, 2)]}"
     " for o in O for xs in [[i.price for i in o.items]]]",
     [{"a": D("0.00")}, {"a": D("1.00", "2.00", "3.00")}]),
    ("[[1, 2] <= [i.n for i in o.items] for o in O]", "`set(xs) <= set(ys)`",
     "[{1, 2} <= {i.n for i in o.items} for o in O]", [False, True]),
    ("[[i.n for i in o.items] < [1, 2] for o in O]", "`set(xs) < set(ys)`",
     "[{i.n for i in o.items} < {1, 2} for o in O]", [False, True]),
    ("[[i.n for i in o.items] == [3, 1, 2] for o in O]", "`not rn.exists(rn.difference(xs, ys)) and not rn.exists(",
     "[not rn.exists(rn.difference(xs, [3, 1, 2])) and not rn.exists(rn.difference([3, 1, 2], xs))"
     " for o in O for xs in [[i.n for i in o.items]]]", [False, True]),
    ("[[i.n for i in o.items] != [3, 1, 2] for o in O]", "`set(xs) != set(ys)`",
     "[set(i.n for i in o.items) != {3, 1, 2} for o in O]", [False, True]),
    ("[{'a': {i.n for i in o.items} - [2]} for o in O]", "wanted   two sets|`set(xs) - set(ys)`",
     "[{'a': {i.n for i in o.items} - {2}} for o in O]", [{"a": []}, {"a": [1, 3]}]),
    ("[{'a': {i.n for i in o.items} & [2]} for o in O]", "`set(xs) & set(ys)`",
     "[{'a': {i.n for i in o.items} & {2}} for o in O]", [{"a": []}, {"a": [2]}]),
    ("[{'a': [i.n for i in o.items] ^ [2, 4]} for o in O]", "`set(xs) ^ set(ys)`",
     "[{'a': set(i.n for i in o.items) ^ {2, 4}} for o in O]", [{"a": [1, 3, 4]}, {"a": [2, 4]}]),
    ("[divmod(o.n, 2) for o in O]", "`a - a // b * b` has that of b",
     "[(o.n // 2, o.n - o.n // 2 * 2) for o in O]", [{"_1": -4, "_2": 1}, {"_1": 3, "_2": 1}]),
]  # fmt: skip

SECOND = "rn.difference(rn.top(2, o.items, key=lambda i: i.price), rn.top(1, o.items, key=lambda i: i.price))"
FROM_LAST = "rn.top({}, o.items, key=lambda i: i.price, desc=True)"
LAST = f"rn.difference({FROM_LAST.format(2)}, {FROM_LAST.format(1)})"
BY_PLACE: list[Case] = [
    ("[sorted(o.items, key=lambda i: i.price)[1].n for o in O]",
     "possible `rn.difference(rn.top(2, xs, key=...), rn.top(1, xs, key=...))`, a bag of it, `min(",
     f"[min({SECOND}, key=lambda i: i.price).n for o in O]", [None, 1]),
    ("[i.n for o in O for i in sorted(o.items, key=lambda i: i.price)[1:2]]",
     "possible `rn.difference(rn.top(2, xs, key=...), rn.top(1, xs, key=...))`, a bag of them",
     f"[i.n for o in O for i in {SECOND}]", [1]),
    ("[i.n for o in O for i in sorted(o.items, key=lambda i: i.price)[1:]]",
     "possible `rn.difference(xs, rn.top(1, xs, key=...))`, a bag of them",
     "[i.n for o in O for i in rn.difference(o.items, rn.top(1, o.items, key=lambda i: i.price))]", [1, 2]),
    ("[i.n for o in O for i in rn.sorted(o.items, key=lambda i: i.price)[:-1]]",
     "possible `rn.difference(xs, rn.top(1, xs, key=..., desc=True))`, a bag of them",
     f"[i.n for o in O for i in rn.difference(o.items, {FROM_LAST.format(1)})]", [1, 3]),
    ("[i.n for o in O for i in sorted(o.items, key=lambda i: i.price)[-2:]]",
     "possible `rn.top(2, xs, key=..., desc=True)`, a bag of them",
     "[i.n for o in O for i in rn.top(2, o.items, key=lambda i: i.price, desc=True)]", [1, 2]),
    ("[sorted(o.items, key=lambda i: i.price)[-2].n for o in O]",
     "`rn.difference(rn.top(2, xs, key=..., desc=True), rn.top(1, xs, key=..., desc=True))`, a bag of it, `min(",
     f"[min({LAST}, key=lambda i: i.price).n for o in O]", [None, 1]),
    ("[sorted(o.items, key=lambda i: i.price)[-1].n for o in O]", "`max(xs, key=...).price`, its value",
     "[max(o.items, key=lambda i: i.price).n for o in O]", [None, 2]),
    ("[o.k for o in rn.top(2, O, key=lambda o: (o.w, o.k), desc=[True, False])]", "`desc=(True, False)`, a tuple",
     "[o.k for o in rn.top(2, O, key=lambda o: (o.w, o.k), desc=(True, False))]", [1, 2]),
    ("[o.k for o in rn.top(2, O, key=lambda o: o.k, desc=[True])]", "possible `desc=True`",
     "[o.k for o in rn.top(2, O, key=lambda o: o.k, desc=True)]", [2, 1]),
    ("[{'at': i, 'k': o.k} for i, o in enumerate(sorted(O, key=lambda o: o.total))]",
     "`len([y for y in ys if y.n < x.n])`, how many come before x: its place from 0 on",
     "[{'at': len([y for y in O if y.total < o.total]), 'k': o.k} for o in O]", [{"at": 0, "k": 2}, {"at": 1, "k": 1}]),
    ("[{'at': sorted([x.total for x in O]).index(o.total), 'k': o.k} for o in O]",
     "`1 + len([y for y in ys if y.n > x.n])`, its place from the greatest",
     "[{'at': 1 + len([y for y in O if y.total > o.total]), 'k': o.k} for o in O]",
     [{"at": 1, "k": 1}, {"at": 2, "k": 2}]),
    ("[x.sort() for o in O for x in [o.items]]", "`sorted(xs, key=...)`", "sorted([i.n for o in O for i in o.items])",
     [1, 2, 3]),
    ("[max(o.total for o in O).k for c in C]", "possible `max(xs, key=lambda x: x.total).k`, of a row that has it",
     "[max(O, key=lambda x: x.total).k for c in C]", [1]),
    ("[min((i.price for i in o.items), default=None).n for o in O]", "`min(xs, key=lambda x: x.price).n`",
     "[min(o.items, key=lambda x: x.price).n for o in O]", [None, 3]),
    ("[max(i for i in o.items).n for o in O]", "`max(xs, key=lambda x: x.n)`, the row that has it",
     "[max(o.items, key=lambda i: i.n).n for o in O]", [None, 3]),
    ("[max(((i.price, i.n) for i in o.items), default=(0, 0))[1] for o in O]", "`rn.coalesce(max(...)[0], 0)`",
     "[rn.coalesce(max((i.price, i.n) for i in o.items)[0], 0) for o in O]", D("0.00", "3.00")),
    ("[max(((i.name, i.name) for i in O), default=('', ''))[0] for o in O]", "`rn.coalesce(max(...)[0], ...)`",
     "[rn.coalesce(max((i.name, i.name) for i in O)[0], '') for o in O]", ["ab", "ab"]),
    ("[max((i.n, i.price) for i in o.items) == (1, 2) for o in O]", "its values, `max(xs)[0]`",
     "[max((i.n, i.price) for i in o.items)[0] == 3 for o in O]", [None, True]),
    ("[{a + b: 1 for a in ('x', 'y') for b in o.items} for o in O]", "a dict comprehension over rows",
     "[{a + b: o.k for a in ('x', 'y') for b in ('', '1') if a + b > 'x'} for o in O]",
     [{"x1": 1, "y": 1, "y1": 1}, {"x1": 2, "y": 2, "y1": 2}]),
    ("[list(itertools.accumulate(i.n for i in o.items)) for o in O]", "`sum(y.n for y in ys if y.at <= x.at)`",
     "[[sum(j.n for j in o.items if j.n <= i.n) for i in o.items] for o in O]", [[], [1, 3, 6]]),
    ("[[b.n - a.n for a, b in itertools.pairwise(o.items)] for o in O]", "`min((y for y in ys if y.at > x.at), key=",
     "[[min((j for j in o.items if j.n > i.n), key=lambda j: j.n).n for i in o.items] for o in O]", [[], [None, 2, 3]]),
    ("[k for k, n, os in rn.group_by(O, lambda o: (o.k, o.n))]", "possible `for (k, n), os in ...`",
     "[k for (k, n), os in rn.group_by(O, lambda o: (o.k, o.n))]", [1, 2]),
    ("[{str(i.n): i.price for i in o.items} for o in O]", "`{k: ... for k in KINDS}`, a field for each",
     "[{f'n{k}': len([i for i in o.items if i.n == k]) for k in (1, 7)} for o in O]",
     [{"n1": 0, "n7": 0}, {"n1": 1, "n7": 0}]),
    ("[{k + o.name: 1 for k in ('a', 'b')} for o in O]", "the names of fields are texts that are known when the view",
     "[{k + 'x': o.n for k in ('a', 'b')} for o in O]", [{"ax": -7, "bx": -7}, {"ax": 7, "bx": 7}]),
    ("[{k: 1 for k in ('a', 'b') if o.name == k} for o in O]", "`... if x.n else None` as its value",
     "[{k: 1 if o.n == 7 else None for k in ('a', 'b') if k > 'a'} for o in O]", [{"b": None}, {"b": 1}]),
    ("[{k: 1 for k, n in ('a', 'b')} for o in O]", "as many names as there are parts",
     "[{k: n for k, n in [('a', o.k), ('b', 3)]} for o in O]", [{"a": 1, "b": 3}, {"a": 2, "b": 3}]),
    ("[o.day.replace(month=o.day.month + 1) for o in O]", "the first day of the next month",
     "[(o.day.replace(day=28) + datetime.timedelta(days=4)).replace(day=1) for o in O]", [date(2024, 4, 1)] * 2),
    ("[o.items.length for o in O]", "possible `len(xs)`", "[len(o.items) for o in O]", [0, 3]),
    ("[o.items.size() for o in O]", "possible `len(xs)`", "[len(o.items) for o in O]", [0, 3]),
    ("[o.name.length for o in O]", "possible `len(s)`", "[len(o.name) for o in O]", [2, 2]),
    ("[o.name.length() for o in O]", "possible `len(s)`", "[len(o.name) for o in O]", [2, 2]),
    ("[o.items.price for o in O]", "possible `[x.price for x in xs]`", "[x.n for o in O for x in o.items]", [1, 2, 3]),
]  # fmt: skip
OF_TIMES: list[Case] = [
    ("[(o.at - T) / datetime.timedelta(hours=1) for o in O]", "possible `a.total_seconds() / 3600`",
     "[(o.at - T).total_seconds() / 3600 for o in O]", [26.0, 26.0]),
    ("[(o.at - T) / (T - o.at) for o in O]", "possible `a.total_seconds() / b.total_seconds()`",
     "[(o.at - T).total_seconds() / (T - o.at).total_seconds() for o in O]", [-1.0, -1.0]),
    ("[(o.at - T) // datetime.timedelta(hours=5) for o in O]", "possible `math.floor(a.total_seconds() / 18000)`",
     "[math.floor((o.at - T).total_seconds() / 18000) for o in O]", [5, 5]),
    ("[(o.at - T) % datetime.timedelta(hours=5) for o in O]",
     "possible `a.total_seconds() - 18000 * math.floor(a.total_seconds() / 18000)`, so many seconds",
     "[(o.at - T).total_seconds() - 18000 * math.floor((o.at - T).total_seconds() / 18000) for o in O]",
     [3600.0, 3600.0]),
    ("[datetime.date(o.day.year, 1, 1) for o in O]", "`x.replace(month=1, day=1)`, the first day of its year",
     "[o.day.replace(month=1, day=1) for o in O]", [date(2024, 1, 1)] * 2),
    ("[datetime.date(o.day.year, o.day.month, 1) for o in O]", "`x.replace(day=1)` of its month",
     "[o.day.replace(day=1) for o in O]", [date(2024, 3, 1)] * 2),
    ("[datetime.datetime(o.at.year, o.at.month, o.at.day) for o in O]", "hour=0, minute=0, second=0, microsecond=0)`",
     "[o.at.replace(hour=0, minute=0, second=0, microsecond=0) for o in O]", [datetime(2024, 1, 3, tzinfo=UTC)] * 2),
    ("[Decimal(o.n) for o in O]", "`rn.decimal(x, 18, 2)`", "[rn.decimal(o.n, 18, 2) for o in O]", D("-7.00", "7.00")),
    ("[f'{o.day:%Y-%m}' for o in O]", "possible `o.day.strftime('%Y-%m')`",
     "[o.day.strftime('%Y-%m') for o in O]", ["2024-03"] * 2),
    ("[f'{o.at:%H:%M}' for o in O]", "possible `o.at.strftime('%H:%M')`", "[o.at.strftime('%H:%M') for o in O]",
     ["01:00"] * 2),
    ("[f'{o.total:.2f}' for o in O]", "possible the number as a field of its own", "[o.total for o in O]",
     D("-3.25", "10.50")),
    ("[str(o.total) for o in O]", "possible `str(int(x))`, or a field of its own", "[str(int(o.total)) for o in O]",
     ["-3", "10"]),
    ("[f'{o.n:>5}' for o in O]", "`{str(x)}` of a number", "[f'{str(o.n)}' for o in O]", ["-7", "7"]),
    ("[f'{o.k:05d}' for o in O]", "`{('0000' + str(o.k))[-5:]}`, of numbers from 0 to 99999",
     "[f'{(\"0000\" + str(o.k))[-5:]}' for o in O]", ["00001", "00002"]),
    ("[f'{o.day.year}-{o.day.month:02d}' for o in O]", "`{o.day.strftime('%m')}`",
     "[f'{o.day.year}-{o.day.strftime(\"%m\")}' for o in O]", ["2024-03"] * 2),
    ("[f'{o.at.hour:02}' for o in O]", "`{o.at.strftime('%H')}`",
     "[f'{o.at.strftime(\"%H\")}' for o in O]", ["01"] * 2),
    ("[o.at.replace(day=1) for o in O]", "`x.date().replace(day=1)`, a date",
     "[o.at.date().replace(day=1) for o in O]", [date(2024, 1, 1)] * 2),
]  # fmt: skip

ABOVE = """\
RATES = {"ab": 2}
NUMBERS = {7: 2}
WORDS = ["no", "one", "two"]
BY_PLACE = dict(enumerate(WORDS))
LIMITS = {"ab": (1.0, 2.0), "b": (3.0, 4.0)}
RULES = {"ab": {"low": 1.0}}
Kind = enum.Enum("Kind", {"AB": "ab", "B": "b"})
VALUES = [k.value for k in Kind]

@rn.view
def paid(O: Bag[Order]):
    return [o for o in O if o.total > 0]

def alone(x):
    return x + 1

cached = functools.lru_cache(alone)
kept = functools.lru_cache(maxsize=None)(alone)

def logged(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

watched = logged(alone)
partly = functools.partial(alone, 1)
"""
OF_NAMES: list[Case] = [
    ("[o.k for o in paid]", "got      the view paid|possible `paid(O)`, its rows", "[o.k for o in paid(O)]", [1]),
    ("O + paid", "possible `paid(O)`, its rows", "[o.k for o in O + paid(O)]", [1, 1, 2]),
    ("[len(paid) for c in C]", "possible `paid(O)`, its rows", "[len(paid(O)) for c in C]", [1]),
    ("[rn.exists(paid) for c in C]", "possible `paid(O)`, its rows", "[rn.exists(paid(O)) for c in C]", [True]),
    ("[{'p': paid} for c in C]", "possible `paid(O)`, its rows", "[{'p': [o.k for o in paid(O)]} for c in C]",
     [{"p": [1]}]),
    ("paid.k", "possible `paid(O)`, its rows", "[o.k for o in paid(O)]", [1]),
    ("[cached(o.n) for o in O]", "alone, which a decorator has changed|`def alone(...)` without the decorator",
     "[alone(o.n) for o in O]", [-6, 8]),
    ("[kept(o.n) for o in O]", "alone, which a decorator has changed", "[alone(o.n) for o in O]", [-6, 8]),
    ("[watched(o.n) for o in O]", "alone, which a decorator has changed", "[alone(o.n) for o in O]", [-6, 8]),
    ("[partly() for o in O]", "`def f(x): return g(1, x)`", "[alone(1) for o in O]", [2, 2]),
    ("[{'ab': 2}.get(o.name, 0) for o in O]", "`RATES.get(x.key, 0)`", "[RATES.get(o.name, 0) for o in O]", [2, 2]),
    ("[{7: 2}.get(o.n, 0) for o in O]", "of a dict `RATES = {...}` outside", "[NUMBERS.get(o.n, 0) for o in O]",
     [0, 2]),
    ("[RATES[o.name] for o in O]", "`RATES.get(o.name, default)`, which is NULL without a default",
     "[RATES.get(o.name, 0) for o in O]", [2, 2]),
    ("[NUMBERS[o.n] if o.n in NUMBERS else 0 for o in O]", "`NUMBERS.get(o.n, default)`",
     "[NUMBERS.get(o.n, 0) for o in O]", [0, 2]),
    ("[WORDS[o.k] for o in O]",
     "`BY_PLACE = dict(enumerate(WORDS))` outside of the view, and `BY_PLACE.get(o.k, default)`",
     "[BY_PLACE.get(o.k, '') for o in O]", ["one", "two"]),
    ("[LIMITS.get(o.name, (0.0, 0.0))[0] for o in O]",
     "`min((v[0] for k, v in LIMITS.items() if k == o.name), default=...)`",
     "[min((v[0] for k, v in LIMITS.items() if k == o.name), default=0.0) for o in O]", [1.0, 1.0]),
    ("[LIMITS[o.name] for o in O]", "`for k, v in LIMITS.items() if k == o.name` in a comprehension",
     "[v for o in O for k, v in LIMITS.items() if k == o.name]", [{"_1": 1.0, "_2": 2.0}] * 2),
    ("[RULES[o.name]['low'] for o in O]", "`min((v['low'] for k, v in RULES.items() if k == o.name), default=...)`",
     "[min((v['low'] for k, v in RULES.items() if k == o.name), default=0.0) for o in O]", [1.0, 1.0]),
    ("[o.k for o in O if o.name == Kind.AB]", "its value, `Kind.AB.value`",
     "[o.k for o in O if o.name == Kind.AB.value]", [1, 2]),
    ("[o.k for o in O if o.name in [k.value for k in Kind]]", "`VALUES = [x.value for x in Kind]` outside of the view",
     "[o.k for o in O if o.name in VALUES]", [1, 2]),
    ("[o.n and o.n > 3 for o in O]", "`bool(o.n) and ...`, a condition", "[bool(o.n) and o.n > 3 for o in O]",
     [False, True]),
    ("[{'ab': 2}[o.name] for o in O]", "`RATES.get(x.key, 0)`", "[RATES.get(o.name, 0) for o in O]", [2, 2]),
    ("[o.k for o in O if o.name in {'ab': 2}]", "`x.key in RATES`", "[o.k for o in O if o.name in RATES]", [1, 2]),
    ("[o.k for o in O if o.n not in {7: 2}]", "`x.key in RATES`", "[o.k for o in O if o.n not in NUMBERS]", [2]),
    ("[r.get(o.name, 0) for o in O for r in [{'ab': 2}]]", "of constants `RATES.get(x.key, 0)`",
     "[RATES.get(o.name, 0) for o in O]", [2, 2]),
]  # fmt: skip

Made = Callable[[str], Any]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A module with the view v of an expression over orders O and customers C."""

    def make(expr: str) -> Any:
        path = tmp_path / "orders.py"
        return module(path, f"{HEAD}{ABOVE}\n@rn.view\ndef v(O: Bag[Order], C: Bag[Customer]):\n    return {expr}\n")

    return make


ALL = [*DIGITS, *OF_DECIMALS, *OTHERS, *BY_PLACE, *OF_TIMES, *OF_NAMES]


@pytest.mark.parametrize(("wrong", "told", "right", "rows"), ALL, ids=[c[0] for c in ALL])
def test_what_is_told_works(
    made: Made, folder: Path, wrong: str, told: str, right: str, rows: list[Any]
) -> None:
    with pytest.raises(QueryError) as caught:
        made(wrong)
    message = str(caught.value)
    assert [part for part in told.split("|") if part not in message] == [], message
    module = made(right)
    assert module.v(ORDERS, CUSTOMERS) == rows
    with rn.open(folder / "state", engine="local") as db:
        db.relation("O", module.Order)
        db.relation("C", module.Customer)
        db.create(module.v)
        with db.batch() as b:
            b.insert("O", ORDERS)
            b.insert("C", CUSTOMERS)
        assert db.view("v").rows() == rows


def test_text_is_not_made_of_what_has_several(made: Made) -> None:
    """str of a decimal or a double is refused itself, so nobody is told to write it."""
    for expr in ("[rn.coalesce(o.name, o.total) for o in O]", "[o.name if o.n > 0 else o.w for o in O]"):
        with pytest.raises(QueryError) as caught:
            made(expr)
        assert "are not" in str(caught.value) and "str(x)" not in str(caught.value)


def test_a_record_is_made_without_parentheses() -> None:
    made: Any = rn.record
    for options, got in (({}, "@rn.record()"), ({"frozen": True}, "@rn.record(frozen=...)")):
        with pytest.raises(Unsupported) as caught:
            made(**options)
        assert f"got      {got}\n  possible `@rn.record` alone" in str(caught.value)


def test_a_view_is_made_without_parentheses() -> None:
    made: Any = rn.view
    for use, got in (
        (made, "@rn.view()"),
        (lambda: made("big"), "@rn.view('big')"),
        (lambda: made(name="big"), "@rn.view(name=...)"),
    ):
        with pytest.raises(Unsupported) as caught:
            use()
        assert f"got      {got}\n  possible `@rn.view` without parentheses" in str(caught.value)

    @rn.view
    def names(N: rn.Bag[str]):  # type: ignore[no-untyped-def]
        return N

    assert names.over("big").name == "big" and names.over("big")(["a"]) == ["a"]
