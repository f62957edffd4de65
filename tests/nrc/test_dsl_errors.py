"""What a view cannot contain: each error has the user's file, line and column, a caret line and the nearest form."""

import inspect
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.written import module

import ripplenest as rn
from ripplenest import explain
from ripplenest.nrc import types as t
from ripplenest.nrc.errors import QueryError, TooBig, TooDeep, TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.limits import MAX_SOURCE, check_limits, check_source
from ripplenest.nrc.surface.python import Bag, hints, view
from ripplenest.nrc.syntax import Empty, Expr, Neg, Plus

HEAD = """\
from ripplenest.nrc.surface.python import *
import datetime, decimal, math, random, re, statistics, time, uuid, ripplenest as rn

@record
class Movie:
    name: str
    year: int
    made: datetime.date
    gen: str | None
    tags: Bag[str]

PAIRS = [(1, 2)]
RATES = {"a": 1}
GONE = {"a": None}
MANY, HANDLE = dict.fromkeys(range(201), 0), object()  # such a one as db.relation gives

def loop(x):
    return loop(x)

def broken(m):
    return m.nam

def lazy(*args):
    return args

def nothing(x):
    y = x

@view
def names(N: Bag[Movie]):
    return [n.name for n in N]

"""
VIEW = HEAD + "@view\ndef v(M: Bag[Movie]):\n    return "

# expression; what the caret underlines; error; part of the message
EXPRESSIONS: list[tuple[str, str, type[QueryError], str]] = [
    # bags and rows
    ("sum(m.year for m in M)", "return sum(m.year for m in M)", TypeMismatch, "a bag of one row"),
    ("[sum(m.name for m in M)]", "sum(m.name for m in M)", TypeMismatch, "int, long or decimal"),
    ("[sum(m.year) for m in M]", "sum(m.year)", Unsupported, "sum(x.n for x in xs)"),
    ("[x for x in (m for m in M)]", "(m for m in M)", Unsupported, "a list comprehension"),
    ("{m.name: 1 for m in M}", "{m.name: 1 for m in M}", Unsupported, "'key'"),
    ("[m.gen for m in sorted(M, key=lambda m: m.name)]", "sorted(M, key=lambda m: m.name)", Unsupported, "do not hold"),
    ("[m.tags[1:2] for m in M]", "m.tags[1:2]", Unsupported, "`sorted(xs, key=...)[:3]`"),
    ("[m.name[::2] for m in M]", "m.name[::2]", Unsupported, "s[a:-n] with constants"),
    ("[m.name[-2:1] for m in M]", "m.name[-2:1]", Unsupported, "s[a:-n] with constants"),
    ("[m.name[m.year:] for m in M]", "m.year", Unsupported, "a bound of a string that is no constant"),
    ("[m.name[:2**40] for m in M]", "2**40", Unsupported, "x * x"),
    ("[m.name[0] for m in M]", "m.name[0]", Unsupported, "`m.name[:1]`, which is empty where there is none"),
    ("[m.name[-1] for m in M]", "m.name[-1]", Unsupported, "`m.name[-1:]`"),
    ("[m.name[-3] for m in M]", "m.name[-3]", Unsupported, "`m.name[-3:-2]`"),
    ("['abc'[1] for m in M]", "'abc'[1]", Unsupported, "`'abc'[1:2]`"),
    ("[m.name[:1099511627776] for m in M]", "1099511627776", Unsupported, "no constant"),
    ("[m.year[:1] for m in M]", "m.year[:1]", Unsupported, "a slice of long"),
    ("[M[0] for m in M]", "M[0]", Unsupported, "`rn.top(1, xs, key=...)`"),
    ("[m.tags[-1] for m in M]", "m.tags[-1]", Unsupported, "key=..., desc=True)`"),
    ("[m.tags[3] for m in M]", "m.tags[3]", Unsupported, "`rn.top(4, xs, key=...)`, a bag of the first 4 rows"),
    ("[m.tags[-2] for m in M]", "m.tags[-2]", Unsupported, "desc=True)`, a bag of the last 2 rows"),
    ("[m.tags[True] for m in M]", "m.tags[True]", Unsupported, "for x in xs"),
    ("[m.tags[m.year] for m in M]", "m.tags[m.year]", Unsupported, "for x in xs"),
    ("[m | {'a': 1} for m in M]", "m | {'a': 1}", Unsupported, "{**x, 'name': ...}"),
    ("[1 for m in M if m.tags == []]", "m.tags == []", TypeMismatch, "`not rn.exists(xs)`"),
    ("[1 for m in M if [] != m.tags]", "[] != m.tags", TypeMismatch, "possible `rn.exists(xs)`"),
    ("[1 for m in M if m.tags != m.tags]", "m.tags != m.tags", TypeMismatch, "possible `rn.exists(rn.diff"),
    ("[1 for m in M if m.tags == m.tags]", "m.tags == m.tags", TypeMismatch, "possible `not rn.exists("),
    ("[1 for m in M if m.tags == m.year]", "m.tags == m.year", TypeMismatch, "one row per element"),
    ("[1 for m in M if M == M]", "M == M", TypeMismatch, "one row per element"),
    ("[rn.avg(M) for m in M]", "rn.avg(M)", TypeMismatch, "`rn.avg(x.year for x in xs)`"),
    ("[rn.avg(n.year > 3 for n in M) for m in M]", "rn.avg(n.year > 3 for n in M)", TypeMismatch, "how many there are"),
    ("sorted(M, key=lambda m: m.tags)", "lambda m: m.tags", TypeMismatch, "len(x.ys)"),
    ("sorted(M, key='year')", "'year'", TypeMismatch, "`lambda x: x.year`"),
    ("sorted(M, key=lambda m: m.year, reverse=M)", "M", Unsupported, "`reverse=True`"),
    ("[{'k': k} for k, ms in rn.group_by(M, lambda m: m.tags)]", "lambda m: m.tags", TypeMismatch, "keys hold no bags"),
    ("[a for a, b in M]", "a, b", Unsupported, "one name"),
    ("[1 for m.name in M]", "m.name", Unsupported, "target"),
    ("[1 for m in 'abc']", "'abc'", TypeMismatch, "this must be a bag"),
    ("[1 for m in M for n in m.name]", "m.name", TypeMismatch, "this must be a bag"),
    ("[1 for m in M for n in HANDLE]", "HANDLE", TypeMismatch, "def view(movies: Bag[Movie])"),
    ("[[] for m in M]", "[]", Unsupported, "none: Bag[str] = []"),
    ("[{'a': None} for m in M]", "None", Unsupported, "has no type"),
    ("[{m.name: 1} for m in M]", "m.name", Unsupported, "literal string"),
    ("[{**m.name} for m in M]", "m.name", TypeMismatch, "a record"),
    ("[{'f': names} for m in M]", "names", TypeMismatch, "not a value"),
    ("M + 1", "M + 1", TypeMismatch, "the bag of one row"),
    ("M / M", "M / M", Unsupported, "operator / between bags"),
    ("M & {m.name for m in M}", "M & {m.name for m in M}", Unsupported, "`rn.intersect(xs, ys)`"),
    ("M | M", "M | M", Unsupported, "`set(xs + ys)`"),
    ("set(m.name for m in M) - ['a']", "set(m.name for m in M) - ['a']", Unsupported, "`set(xs) - set(ys)`"),
    ("[m.name for m in M] - {n.name for n in M}", "[m.name for m in M] - {n.name for n in M}", Unsupported, "rn.diff"),
    ("M + [m.name for m in M]", "M + [m.name for m in M]", TypeMismatch, "same rows"),
    (
        "[{'a': [m.made.year]} for m in M] + [{'a': [1]}]",
        "[{'a': [m.made.year]} for m in M] + [{'a': [1]}]",
        TypeMismatch,
        "; a is int and long",
    ),
    ("[{'a': 1, 'b': 2}, {'b': 1, 'a': 2}]", "[{'a': 1, 'b': 2}, {'b': 1, 'a': 2}]", TypeMismatch, "another order"),
    ("[1, 'a']", "[1, 'a']", TypeMismatch, "same rows"),
    ("M if 1 == 1 else None", "M if 1 == 1 else None", TypeMismatch, "joined with None"),
    ("M.name", "M.name", TypeMismatch, "[x.name for x in xs]"),
    ("M.append(1)", "M.append(1)", Unsupported, "xs + [x]"),
    ("[m.tags.intersection(m.tags) for m in M]", "m.tags.intersection(m.tags)", Unsupported, "rn.intersect(xs, ys)"),
    ("[m.tags.union(m.tags) for m in M]", "m.tags.union(m.tags)", Unsupported, "set(xs + ys)"),
    ("[1 for m in M if m.tags.issubset(m.tags)]", "m.tags.issubset(m.tags)", Unsupported, "set(xs) <= set(ys)"),
    ("[{'s': m.tags - set(m.tags)} for m in M]", "m.tags - set(m.tags)", Unsupported, "rn.difference(xs"),
    ("flatten(M)", "flatten(M)", TypeMismatch, "bag of bags"),
    # scalars
    ("[1 for m in M if m.gen == None]", "m.gen == None", Unsupported, "`is None`"),
    ("[1 for m in M if None != m.gen]", "None != m.gen", Unsupported, "`is not None`"),
    ("[1 for m in M if m.name is m.gen]", "m.name is m.gen", Unsupported, "`==`"),
    ("[1 for m in M if m.gen in ('a', None)]", "m.gen in ('a', None)", Unsupported, "is None or x in"),
    ("[1 for m in M if (m.year, 1) in [(n.year, 1, 2) for n in M]]", "(m.year, 1) in [(n.year, 1, 2) for n in M]",
     TypeMismatch, "2 and 3"),
    ("[1 for m in M if (m.year, 1) in M]", "(m.year, 1) in M", TypeMismatch, "`any(y.name == a and ... for y in ys)`"),
    ("[m.name.rstrip('x') for m in M]", "m.name.rstrip('x')", Unsupported, "a field that has it"),
    ("[1 for m in M if m.gen not in ('a', None)]", "m.gen not in ('a', None)", Unsupported, "is not None and x not in"),
    ("[{'a': m.tags or m.tags} for m in M]", "m.tags", TypeMismatch, "`rn.exists(xs)`"),
    ("[{'a': m.tags and m.gen} for m in M]", "m.tags", TypeMismatch, "`rn.exists(xs)`"),
    ("[m.gen == 'a' or m.year for m in M]", "m.year", TypeMismatch, "`x != 0`"),
    ("[m.gen == 'a' and m.gen for m in M]", "m.gen", TypeMismatch, "`x != ''`"),
    ("[m.gen or 1 for m in M]", "m.gen or 1", TypeMismatch, "does not take these types"),
    ("[m.tags or ['a'] for m in M]", "m.tags", TypeMismatch, "`xs if rn.exists(xs) else ['a']`"),
    ("[m.name or [] for m in M]", "m.name or []", TypeMismatch, "a relation, an inner bag"),
    ("[rn.coalesce(m.tags, 0) for m in M]", "rn.coalesce(m.tags, 0)", TypeMismatch, "a relation, an inner bag"),
    ("[rn.coalesce(m.tags, [1]) for m in M]", "rn.coalesce(m.tags, [1])", TypeMismatch, "same rows"),
    ("[1 for m in M if m.name.startswith(('a', 'b'))]", "m.name.startswith(('a', 'b'))", Unsupported, " or s.starts"),
    ("[m.year - m.name.upper() for m in M]", "m.year - m.name.upper()", TypeMismatch, "+` between strings"),
    ("[m.name * m.name for m in M]", "m.name * m.name", TypeMismatch, "`*` is not between strings"),
    ("[m.name % m.name for m in M]", "m.name % m.name", Unsupported, "`%` after a string"),
    ("[m.year - m.made for m in M]", "m.year - m.made", TypeMismatch, "- does not take these types"),
    ("[f'{m.year / 2}' for m in M]", "m.year / 2", TypeMismatch, "{int(x)}"),
    ("[sum([m.year], 0) for m in M]", "sum([m.year], 0)", Unsupported, "rn.coalesce(sum("),
    ("[datetime.timedelta(1) for m in M]", "datetime.timedelta(1)", TypeMismatch, "`x + datetime.timedelta(days=1)`"),
    ("[m.year + datetime.timedelta(1) for m in M]", "m.year + datetime.timedelta(1)", TypeMismatch, "`x + datetime."),
    ("[datetime.timedelta(1) - m.made for m in M]", "datetime.timedelta(1) - m.made", TypeMismatch, "`x + datetime."),
    ("[m.made + datetime.timedelta(1) * m.made for m in M]", "datetime.timedelta(1) * m.made", TypeMismatch,
     "(days=x.n)"),
    ("[m.made + datetime.timedelta(1) / m.year for m in M]", "datetime.timedelta(1) / m.year", TypeMismatch,
     "2 * span"),
    ("[m.made + datetime.timedelta(1) / 0 for m in M]", "datetime.timedelta(1) / 0", Unsupported, "timedelta(days=1)"),
    ("[m for m in M if m.made - m.made < 3]", "m.made - m.made < 3", TypeMismatch, "`a - b < datetime."),
    ("[(m.made - m.made).seconds for m in M]", "(m.made - m.made).seconds", Unsupported, "`span.total_seconds()`"),
    ("[(m.made - m.made).hours() for m in M]", "(m.made - m.made).hours()", Unsupported, "`span.total_seconds()`"),
    ("[m.made + datetime.timedelta(hours=25) for m in M]", "m.made + datetime.timedelta(hours=25)", TypeMismatch,
     "`datetime.timedelta(days=1)`"),
    ("[m.made + datetime.timedelta(days=m.year / 2) for m in M]", "datetime.timedelta(days=m.year / 2)", TypeMismatch,
     "`datetime.timedelta(days=x.n)`"),
    ("[m.made + datetime.timedelta(years=1) for m in M]", "datetime.timedelta(years=1)", Unsupported, "(weeks=1)"),
    ("[m.made + datetime.timedelta(days='a') for m in M]", "datetime.timedelta(days='a')", Unsupported, "(days=1)"),
    ("[m.made + datetime.timedelta(1, 2, 3, 4, 5, 6, 7, 8) for m in M]",
     "datetime.timedelta(1, 2, 3, 4, 5, 6, 7, 8)", Unsupported, "timedelta(days=1)"),
    ("[rn.tumble(m.made, 7) for m in M]", "rn.tumble(m.made, 7)", TypeMismatch, "`datetime.timedelta(days=7)`"),
    ("[rn.tumble(m.year, datetime.timedelta(1)) for m in M]", "rn.tumble(m.year, datetime.timedelta(1))", TypeMismatch,
     "`60`"),
    ("[rn.tumble(m.name, 7) for m in M]", "rn.tumble(m.name, 7)", TypeMismatch, "dates and timestamps"),
    ("[rn.tumble(m.year) for m in M]", "rn.tumble(m.year)", Unsupported, "rn.tumble(x, size, origin=...)"),
    ("[rn.tumble(m.year, -1) for m in M]", "rn.tumble(m.year, -1)", Unsupported, "`60`"),
    ("[rn.tumble(m.year, 5, m.name) for m in M]", "rn.tumble(m.year, 5, m.name)", TypeMismatch, "(long, long, long)"),
    ("[rn.hop(m.year, 65, 1) for m in M]", "rn.hop(m.year, 65, 1)", Unsupported, "at most 64 windows"),
    ("[rn.hop(m.year, m.year, 1) for m in M]", "rn.hop(m.year, m.year, 1)", Unsupported, "constants"),
    ("[rn.hop(m.year, 5) for m in M]", "rn.hop(m.year, 5)", Unsupported, "rn.hop(x, size, every, origin=...)"),
    ("[rn.date_trunc('hour', m.made) for m in M]", "rn.date_trunc('hour', m.made)", UnknownName, "`rn.tumble(x, "),
    ("[re.sub('a', 'b', m.name) for m in M]", "re.sub('a', 'b', m.name)", Unsupported, "`s in t`"),
    ("[statistics.mean([m.year]) for m in M]", "statistics.mean([m.year])", Unsupported, "rn.avg"),
    ("[1 for m in M if m.tags == m.tags]", "m.tags == m.tags", TypeMismatch, "base values only"),
    ("[math.floor(m.name) for m in M]", "math.floor(m.name)", TypeMismatch, "floor does not take these types"),
    ("[round(m.year / 3, 2) for m in M]", "round(m.year / 3, 2)", Unsupported, "`round(x * 100) / 100`"),
    ("[math.ceil(decimal.Decimal('1.5')) for m in M]", "math.ceil(decimal.Decimal('1.5'))", TypeMismatch,
     "`-(int(x * -10) // 10)`"),
    ("[math.sqrt(m.year) for m in M]", "math.sqrt(m.year)", Unsupported, "a field of the row"),
    ("[','.join(t for t in m.tags) for m in M]", "','.join(t for t in m.tags)", Unsupported, "of a bag the bag itself"),
    ("[m.made.replace(day=m.year) for m in M]", "m.made.replace(day=m.year)", Unsupported, "`x.replace(day=1)`"),
    ("[m.made.replace(day=32) for m in M]", "m.made.replace(day=32)", Unsupported, "1 to 31"),
    ("[m.made.replace(hour=1) for m in M]", "m.made.replace(hour=1)", Unsupported, "`x.replace(day=1)`"),
    ("[m.made.replace() for m in M]", "m.made.replace()", Unsupported, ".replace of nothing of a date"),
    ("[m.made.replace(1, 2, 3, 4) for m in M]", "m.made.replace(1, 2, 3, 4)", Unsupported, "`x.replace(day=1)`"),
    ("[m.made.isoformat(' ') for m in M]", "m.made.isoformat(' ')", Unsupported, "`x.isoformat()`"),
    ("[m.made.weekday(1) for m in M]", "m.made.weekday(1)", Unsupported, "`x.weekday()`"),
    ("[m.made.strftime('%B') for m in M]", "m.made.strftime('%B')", Unsupported, "%B in the format of a date"),
    ("[m.made.strftime('100 %') for m in M]", "m.made.strftime('100 %')", Unsupported, "%H, %M, %S and %%"),
    ("[m.made.strftime(m.name) for m in M]", "m.made.strftime(m.name)", Unsupported, "where a constant is wanted"),
    ("[m.made.strftime(format='%Y') for m in M]", "m.made.strftime(format='%Y')", Unsupported, "`x.strftime('%Y-%m')`"),
    ("[m.made.ctime() for m in M]", "m.made.ctime()", Unsupported, "`x.strftime('%Y-%m-%d')`"),
    ("[m.made.fromisoformat('x') for m in M]", "m.made.fromisoformat('x')", Unsupported, ".year, .month and .day, ."),
    ("[datetime.datetime(2020, 1, 1).replace(minute=0) for m in M]", "datetime.datetime(2020, 1, 1).replace(minute=0)",
     Unsupported, "`x.replace(minute=0, second=0, microsecond=0)`"),
    ("[datetime.datetime(2020, 1, 1).replace(second=1, microsecond=0) for m in M]",
     "datetime.datetime(2020, 1, 1).replace(second=1, microsecond=0)", Unsupported, "the start of the hour"),
    ("[min(m.year, m.name) for m in M]", "min(m.year, m.name)", TypeMismatch, "min does not take these types"),
    ("[max(m.year, m.tags) for m in M]", "max(m.year, m.tags)", TypeMismatch, "base values only"),
    ("[max(m.year, None) for m in M]", "max(m.year, None)", Unsupported, "None has no type"),
    ("[max(m.year, 1, default=0) for m in M]", "max(m.year, 1, default=0)", Unsupported, "the keyword default"),
    ("[max(M, key=lambda n: n.year) for m in M]", "max(M, key=lambda n: n.year)", TypeMismatch, "holds no bags: tags"),
    ("[max(M, key=lambda n: n.year).tags for m in M]", "max(M, key=lambda n: n.year).tags", TypeMismatch, "`rn.top(1"),
    ("[max(M, key=lambda n: n.year).nam for m in M]", "max(M, key=lambda n: n.year).nam", UnknownName, "name, year"),
    ("[max(M, key=lambda n: n.year) + 1 for m in M]", "max(M, key=lambda n: n.year) + 1", TypeMismatch, ".n`"),
    ("[max(M, key=lambda n: 1, default=0).year for m in M]", "max(M, key=lambda n: 1, default=0)", Unsupported,
     "`rn.coalesce(max(xs, key=...).n, 0)`"),
    ("[max(M, M, key=len) for m in M]", "max(M, M, key=len)", Unsupported, "`max(xs, key=lambda x: x.n)`"),
    ("[max(M, key='year').name for m in M]", "'year'", TypeMismatch, "`lambda x: x.year`"),
    ("[rn.decimal(m.name, 18, 2) for m in M]", "rn.decimal(m.name, 18, 2)", TypeMismatch, "rn.decimal does not take"),
    ("[rn.decimal(m.year) for m in M]", "rn.decimal(m.year)", Unsupported, "`rn.decimal(x, 18, 2)`"),
    ("[rn.decimal(m.year, m.year, 2) for m in M]", "rn.decimal(m.year, m.year, 2)", Unsupported, "made of constants"),
    ("[rn.decimal(m.year, 2, 3) for m in M]", "rn.decimal(m.year, 2, 3)", Unsupported, "1 to 38 digits"),
    ("[rn.decimal(m.year, 38) + 1 for m in M]", "rn.decimal(m.year, 38) + 1", TypeMismatch,
     "`rn.decimal(x, 18, 0)` of the left"),
    ("[m.year * rn.decimal(m.year, 31, 2) for m in M]", "m.year * rn.decimal(m.year, 31, 2)", TypeMismatch,
     "`rn.decimal(x, 17, 2)` of the right"),
    ("[m.year * rn.decimal(m.year, 38, 20) for m in M]", "m.year * rn.decimal(m.year, 38, 20)", TypeMismatch,
     "`rn.decimal(x, 18, 2)`, fewer"),
    ("[1 for m in M if m.year in range(1, m.year)]", "range(1, m.year)", Unsupported, "`1 <= x < y`"),
    ("[1 for m in M if m.year in range(1, 9, 2)]", "range(1, 9, 2)", Unsupported, "`x in range(1, 4)`"),
    ("[1 for m in M if m.name in range(3)]", "m.name in range(3)", TypeMismatch, "`0 <= x < 3`"),
    ("[dict(m, m) for m in M]", "dict(m, m)", Unsupported, "{'name': ...}"),
    ("[dict(m.name) for m in M]", "m.name", TypeMismatch, "only the fields of a record"),
    ("[bool(m.tags, 1) for m in M]", "bool(m.tags, 1)", Unsupported, "`bool(xs)`"),
    ("[m.year.bit_length() for m in M]", "m.year.bit_length()", Unsupported, "only strings, dates"),
    ("[m.name.replace('', 'b') for m in M]", "m.name.replace('', 'b')", Unsupported, "that may be empty"),
    ("[m.name.replace(m.name, 'b') for m in M]", "m.name.replace(m.name, 'b')", Unsupported, "that may be empty"),
    ("[m.name.replace('a', 'b', 1) for m in M]", "m.name.replace('a', 'b', 1)", Unsupported, "`.replace(a, b)`"),
    ("[m.name.replace('a', 1) for m in M]", "m.name.replace('a', 1)", TypeMismatch, "string, string, string"),
    ("[1 for m in M if m.made > '2024-12-31']", "m.made > '2024-12-31'", TypeMismatch, "`datetime.date(2024, 12, 31)`"),
    ("[1 for m in M if m.name == 3]", "m.name == 3", TypeMismatch, "`str(x)` of an int"),
    ("[1 for m in M if (m.year > 3) == 1]", "(m.year > 3) == 1", TypeMismatch, "the condition itself"),
    ("[m.made - m.made for m in M]", "m.made - m.made", TypeMismatch, "`(a - b).days` of dates"),
    ("[(m.year > 3) + 1 for m in M]", "(m.year > 3) + 1", TypeMismatch, "`1 if x else 0`"),
    ("[(m.made - 1).days for m in M]", "(m.made - 1).days", TypeMismatch, "(date, date)"),
    ("[(datetime.datetime(2020, 1, 1) - m.made).days for m in M]", "(datetime.datetime(2020, 1, 1) - m.made).days",
     Unsupported, "`(a.date() - b).days`, of dates"),
    ("[datetime.datetime(2020, 1, 1).isoformat() for m in M]", "datetime.datetime(2020, 1, 1).isoformat()", Unsupported,
     "`x.strftime('%Y-%m-%dT%H:%M:%S')`"),
    ("[m.made.date() for m in M]", "m.made.date()", Unsupported, "the date itself"),
    ("[int(m.name) for m in M]", "int(m.name)", TypeMismatch, "a field that holds the number"),
    ("[RATES.items() for m in M]", "RATES.items()", TypeMismatch, "`[x for x in XS]`"),
    ("[RATES.get(m.year) for m in M]", "RATES.get(m.year)", TypeMismatch, "`str(x)` of an int"),
    ("[RATES.get(m, 0) for m in M]", "RATES.get(m, 0)", TypeMismatch, "a key is a base value"),
    ("[RATES.get(m.name, 'a') for m in M]", "RATES.get(m.name, 'a')", TypeMismatch, "a default, and values, of"),
    ("[RATES.get(m.name, 0, 1) for m in M]", "RATES.get(m.name, 0, 1)", Unsupported, "get with 3 arguments"),
    ("[RATES.get(m.name, default=0) for m in M]", "RATES.get(m.name, default=0)", Unsupported, "without keywords"),
    ("[MANY.get(m.year) for m in M]", "MANY.get(m.year)", Unsupported, "a relation that holds them"),
    ("[GONE.get(m.name) for m in M]", "GONE.get(m.name)", Unsupported, "as get gives None anyway"),
    ("[RATES['b'] for m in M]", "RATES['b']", UnknownName, "possible 'a'"),
    ("[PAIRS[1] for m in M]", "PAIRS[1]", UnknownName, "possible 0 to 0"),
    ("[RATES[m.name] for m in M]", "m.name", Unsupported, "`RATES.get(m.name, default)`"),
    ("[PAIRS[m.year] for m in M]", "m.year", Unsupported, "a relation that holds them"),
    ("[PAIRS['a'] for m in M]", "PAIRS['a']", UnknownName, "possible 0 to 0"),
    ("[PAIRS['a':] for m in M]", "PAIRS['a':]", UnknownName, "possible 0 to 0"),
    ("[PAIRS[::0] for m in M]", "PAIRS[::0]", UnknownName, "possible 0 to 0"),
    ("[RATES[:1] for m in M]", "RATES[:1]", Unsupported, "a slice of a dict"),
    ("[RATES[[]] for m in M]", "[]", Unsupported, "by what is no constant itself"),
    ("[1 for m in M if m.name in RATES.keys(1)]", "RATES.keys(1)", Unsupported, "`.keys()`"),
    ("[1 for m in M if m < m]", "m < m", TypeMismatch, "`.name`"),
    ("[1 for m in M if m == m]", "m == m", TypeMismatch, "set(xs) == set(ys)"),
    ("[1 for m in M if m.name in M]", "m.name in M", TypeMismatch, "x in [y.name for y in ys]"),
    ("[1 for m in M if m.name not in M]", "m.name not in M", TypeMismatch, "x not in [y.name for y in ys]"),
    ("[1 for m in M if None in m.tags]", "None in m.tags", Unsupported, "rn.exists(y for y in ys if y is None)"),
    ("[1 for m in M if m.year in m.tags]", "m.year in m.tags", TypeMismatch, "== does not take these types"),
    ("[k[2] for k in [(m.name, m.year) for m in M]]", "k[2]", UnknownName, "[0], [1]"),
    ("[m[0] for m in M]", "m[0]", Unsupported, "a field, `x.name`"),
    ("[m.name + m.year for m in M]", "m.name + m.year", TypeMismatch, "str(b)"),
    ("[f'{m.year > 3}' for m in M]", "m.year > 3", TypeMismatch, "{str(x)}"),
    ("[f'{m.name!r}' for m in M]", "m.name", Unsupported, "format in an f-string"),
    ("['%s' % m.name for m in M]", "'%s' % m.name", Unsupported, "f-string"),
    ("[m.year // 2.0 for m in M]", "m.year // 2.0", TypeMismatch, "`math.floor(a / b)`"),
    ("[m.year ** 2 for m in M]", "m.year ** 2", Unsupported, "x * x"),
    ("[~m.year for m in M]", "~m.year", Unsupported, "operator ~"),
    ("[m.name.strip() for m in M]", "m.name.strip()", Unsupported, ".strip(' ')"),
    ("[m.name.split(',') for m in M]", "m.name.split(',')", Unsupported, "parts as a bag"),
    ("[m.made.hours for m in M]", "m.made.hours", TypeMismatch, ".day"),
    ("[m.name.x for m in M]", "m.name.x", TypeMismatch, "only records have fields"),
    ("[m.year < 'a' for m in M]", "m.year < 'a'", TypeMismatch, ""),
    ("[99999999999999999999 for m in M]", "99999999999999999999", TypeMismatch, "beyond 64 bits"),
    ("[1j for m in M]", "1j", Unsupported, "1j"),
    ("[datetime.date(2020, 13, 1) for m in M]", "datetime.date(2020, 13, 1)", Unsupported, "month must be in 1..12"),
    ("[datetime.date(m.year, 1, 1) for m in M]", "datetime.date(m.year, 1, 1)", Unsupported, "made of constants"),
    ("[PAIRS for m in M]", "PAIRS", TypeMismatch, "not a value"),
    # calls and names
    ("[m.nam for m in M]", "m.nam", UnknownName, "name, year, made, gen, tags"),
    ("[datetime.dat for m in M]", "datetime.dat", UnknownName, "has no 'dat'"),
    ("[datetime.dat for m in M]", "datetime.dat", UnknownName, "possible date"),
    ("rn.distinct(M)", "rn.distinct(M)", UnknownName, "possible `set(xs)`"),
    ("[rn.coalese(m.gen, '') for m in M]", "rn.coalese(m.gen, '')", UnknownName, "possible coalesce"),
    ("[loop(m) for m in M]", "loop(x)", Unsupported, "calls itself"),
    ("[lazy(m) for m in M]", "lazy(m)", Unsupported, "takes *args"),
    ("[loop(m, 1) for m in M]", "loop(m, 1)", Unsupported, "does not fit loop(x)"),
    ("[loop(*m) for m in M]", "*m", Unsupported, "starred"),
    ("[loop(**m) for m in M]", "**m", Unsupported, "** in a call"),
    ("names([1])", "names([1])", TypeMismatch, "the argument N of names"),
    ("names(M, M)", "names(M, M)", Unsupported, "does not fit names(N)"),
    ("[m(1) for m in M]", "m(1)", TypeMismatch, "only functions can be called"),
    ("[random.random() for m in M]", "random.random()", Unsupported, "non-deterministic"),
    ("[datetime.timezone(3) for m in M]", "datetime.timezone(3)", Unsupported, "`ZONE = datetime.timezone(...)`"),
    ("[datetime.datetime.now() for m in M]", "datetime.datetime.now()", Unsupported, "non-deterministic"),
    ("[datetime.date.today() for m in M]", "datetime.date.today()", Unsupported, "non-deterministic"),
    ("[str(uuid.uuid4()) for m in M]", "uuid.uuid4()", Unsupported, "non-deterministic"),
    ("[time.time() for m in M]", "time.time()", Unsupported, "non-deterministic"),
    ("[abs(m.year, 1) for m in M]", "abs(m.year, 1)", Unsupported, "one argument"),
    ("[str(object=m.year) for m in M]", "str(object=m.year)", Unsupported, "without keywords"),
    ("[Movie(m.name) for m in M]", "Movie(m.name)", Unsupported, "without year, made"),
    ("[eval('1') for m in M]", "eval('1')", Unsupported, "a call of eval"),
    ("[(lambda x: x)(m) for m in M]", "lambda x: x", Unsupported, "written with def"),
    ("[n for n in range(1000)]", "range(1000)", Unsupported, "a relation that holds them"),
    ("[n for n in MANY]", "MANY", Unsupported, "at most 200"),
    ("[{'a': y, 'b': (y := m.name)} for m in M]", "y", UnknownName, "further down only, or not always"),
    ("[y for m in M if m.year == 1 or (y := m.name) == 'a']", "y", UnknownName, "further down only, or not always"),
    ("[y for m in M if not (m.year == 1 and (y := m.name) == 'a')]", "y", UnknownName, "or not always"),
    ("[y for m in M if 1 < 2 < (y := m.year)]", "y", UnknownName, "or not always"),
    ("[y if (m.year == 1 and (y := 2) == 2) else y for m in M]", "y", UnknownName, "or not always"),
    ("[(1 if m.year == 1 else (y := 2)) + y for m in M]", "y", UnknownName, "or not always"),
    ("[m for m in M if (y := m.year) == 1] + [y]", "y", UnknownName, "or not always"),
    ("[k for m in M if k == 'a' and (k := m.name) == 'a']", "k", UnknownName, "further down only, or not always"),
    ("'é' + [m.nam for m in M]", "m.nam", UnknownName, "no field"),
    ("1", "return 1", TypeMismatch, "this must be a bag"),
]

STATEMENTS: list[tuple[str, str, type[QueryError], str]] = [
    ("for m in M:\n        pass\n    return M", "for m in M:", Unsupported, "a comprehension"),
    ("if M:\n        x = [(y := 1)]\n    return [y for m in M]", "y", UnknownName, "or not always"),
    ("match 1:\n        case _:\n            return M", "match 1:", Unsupported, "a if c else b"),
    ("if 1 == 1:\n        return M", "if 1 == 1:", Unsupported, "or in each of its branches"),
    ("if 1 == 1:\n        return M\n    elif 2 == 2:\n        x = M", "elif 2 == 2:", Unsupported, "`return None`"),
    ("if 1 == 1:\n        return M\n    else:\n        return M\n    return M", "if 1 == 1:", Unsupported, "the last"),
    ("if 1 == 1:\n        return M\n        x = 1\n    return M", "return M", Unsupported, "as the last statement"),
    ("if M.name:\n        x = M\n    return M", "M.name", TypeMismatch, "a bag has no fields"),
    ("if 1 == 1:\n        x = M\n    return x", "x", UnknownName, "further down"),
    ("x = M\n    x += M\n    return x", "x += M", Unsupported, "x = x + ..."),
    ("x, y = M, M\n    return x", "x, y", Unsupported, "one name"),
    ("def f(x):\n        return x\n    return M", "def f(x):", Unsupported, "outside of the view"),
    ("M\n    return M", "M", Unsupported, "not used"),
    ("return M\n    x = M", "return M", Unsupported, "as the last statement"),
    ("y = [x for m in M]\n    x = 1\n    return y", "x", UnknownName, "further down"),
    ("x: Bag[str] = M\n    return x", "x: Bag[str] = M", TypeMismatch, "another type"),
    ("x = [nothing(m) for m in M]\n    return x", "def nothing(x):", Unsupported, "does not return anything"),
    ("return", "return", Unsupported, "a return of nothing"),
    ("x = {m.name for m in M}\n    return x - M", "x - M", Unsupported, "rn.difference(xs, ys)"),
    ("x = {m.name for m in M}\n    y = x\n    return [m.name for m in M] - y", "[m.name for m in M] - y",
     Unsupported, "`-` between a set and a bag"),
]


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Any]:
    def make(text: str) -> Any:
        path = tmp_path / "films.py"
        return module(path, text)

    return make


def caret(text: str, error: QueryError) -> str:
    """What the caret line underlines; checks that ``where`` says the same place."""
    _, line, column = error.where.rsplit(":", 2)
    source = text.splitlines()[int(line) - 1]
    _, shown, under, *_ = str(error).splitlines()
    assert shown.strip() == source.strip()
    start, width = under.index("^"), under.count("^")
    assert shown[start:] == source[int(column) - 1 :]
    return shown[start : start + width]


@pytest.mark.parametrize(("expr", "place", "kind", "part"), EXPRESSIONS, ids=[e[0] for e in EXPRESSIONS])
def test_expressions(load: Callable[[str], Any], expr: str, place: str, kind: type[QueryError], part: str) -> None:
    text = VIEW + expr + "\n"
    with pytest.raises(kind) as caught:
        load(text)
    assert caret(text, caught.value) == place
    assert part in said(caught.value)


@pytest.mark.parametrize(("op", "wanted"), [("in", ["a"]), ("not in", ["b"])])
def test_in_a_bag(load: Callable[[str], Any], op: str, wanted: list[str]) -> None:
    """Each row once, however many members equal it, and NULL equals none; kept at the cost of the change."""
    v = load(f"{VIEW}[m.name for m in M if m.gen {op} [n.name for n in M]]\n").v
    film = {"year": 1, "made": date(2026, 1, 1), "tags": []}
    rows = [{**film, "name": name, "gen": gen} for name, gen in (("a", "b"), ("b", None), ("b", "x"))]
    assert v(rows) == wanted * (2 if op == "not in" else 1)
    assert explain(v, sizes={"M": 100_000}).json()["incremental"]
    stands_for = "any(n.name == m.gen for n in M)"
    other = load(f"{VIEW}[m.name for m in M if {'not ' * (op == 'not in')}{stands_for}]\n").v
    assert explain(v).json()["fingerprint"] == explain(other).json()["fingerprint"]


@pytest.mark.parametrize(("body", "place", "kind", "part"), STATEMENTS, ids=[s[3] for s in STATEMENTS])
def test_statements(load: Callable[[str], Any], body: str, place: str, kind: type[QueryError], part: str) -> None:
    text = VIEW.removesuffix("return ") + body + "\n"
    with pytest.raises(kind) as caught:
        load(text)
    assert caret(text, caught.value) == place
    assert part in said(caught.value)


def said(error: QueryError) -> str:
    """The message without the place of the file, which has the name of the test in it."""
    return str(error).partition("films.py:")[2]


def test_an_indented_function_keeps_its_place() -> None:
    with pytest.raises(UnknownName) as caught:

        @view
        def inside(N: Bag[str]):  # type: ignore[no-untyped-def]
            """A docstring
            with less indentation."""
            return [
                n + no for n in N for no in none]  # fmt: skip  # noqa: F821

        _ = inside.query
    line = inspect.getsourcelines(test_an_indented_function_keeps_its_place)[1] + 8
    assert caught.value.where == f"{__file__}:{line}:{16 + len('n + no for n in N for no in ') + 1}"


def test_the_whole_message(load: Callable[[str], Any]) -> None:
    with pytest.raises(UnknownName) as caught:
        load(VIEW + "[\n        broken(m) for m in M\n    ]\n")
    lines = str(caught.value).splitlines()
    head = HEAD.count("\n")
    assert lines[0].endswith("films.py:21:12: there is no field 'nam'")
    assert lines[1:3] == ["    return m.nam", "           ^^^^^"]
    assert lines[3].startswith("  called at ") and lines[3].endswith(f"films.py:{head + 4}:9")
    assert lines[4:] == ["  got      nam", "  possible name, year, made, gen, tags"]


def test_a_view_that_is_called_as_what_it_uses(load: Callable[[str], Any]) -> None:
    """It was Python's function when the view was read first, and the view itself when it was read again."""
    with pytest.raises(Unsupported, match="which it is called itself") as caught:
        load(HEAD + "@rn.view\ndef abs(M: Bag[Movie]):\n    return [abs(m.year) for m in M]\n")
    assert "`v.over('abs')` is the view by this one" in str(caught.value)
    load(HEAD + "@rn.view\ndef sizes(M: Bag[Movie]):\n    return [abs(m.year) for m in M]\nnamed = sizes.over('abs')\n")


def test_columns_count_characters(load: Callable[[str], Any]) -> None:
    with pytest.raises(UnknownName) as caught:
        load(VIEW + "[('é∅😀', m.nam) for m in M]\n")
    assert caught.value.where.endswith(f":{HEAD.count(chr(10)) + 3}:{len('    return [(') + len(repr('é∅😀, ')) + 1}")


def test_unknown_names_wait_for_the_end_of_the_module(load: Callable[[str], Any]) -> None:
    module = load(VIEW + "[nam(m) for m in M]\n")
    with pytest.raises(UnknownName, match="no such name") as caught:
        _ = module.v.query
    assert "films.py:" in caught.value.where and {"M", "m", "names"} <= set(caught.value.possible or ())
    module.nam = module.names
    with pytest.raises(TypeMismatch, match="must be a bag"):
        _ = module.v.query


@pytest.mark.parametrize(
    ("signature", "place", "part"),
    [
        ("M", "M", "needs a type"),
        ("M: Movie", "M: Movie", "a parameter is a relation"),
        ("M: Bag[Movie] | None", "M: Bag[Movie] | None", "a parameter is a relation"),
        ("M: set[Movie]", "M: set[Movie]", "possible Bag[...]"),
        ("M: list", "M: list", "a bag needs the type of its rows"),
        ("M: list[Movie] | None", "M: list[Movie] | None", "a parameter is a relation"),
        ("M: Bag[Movie] = ()", "def v(M: Bag[Movie] = ()):", "no defaults"),
        ("*M: Bag[Movie]", "def v(*M: Bag[Movie]):", "no defaults"),
    ],
)
def test_parameters(load: Callable[[str], Any], signature: str, place: str, part: str) -> None:
    text = HEAD + f"@view\ndef v({signature}):\n    return M\n"
    with pytest.raises(QueryError) as caught:
        load(text)
    assert caret(text, caught.value) == place and part in str(caught.value)


def test_what_has_no_source() -> None:
    scope: dict[str, Any] = {"Bag": Bag}
    exec("def made(N: Bag[str]):\n    return N", scope)
    with pytest.raises(Unsupported, match="cannot be read"):
        view(scope["made"])
    with pytest.raises(Unsupported, match="a lambda") as caught:
        view(lambda M: M)
    assert caught.value.where.startswith(f"{__file__}:")
    for other in (len, inspect, 3):
        with pytest.raises(Unsupported, match="not a function"):
            view(other)  # type: ignore[arg-type]


def test_a_file_that_was_edited_since(load: Callable[[str], Any], tmp_path: Path) -> None:
    module = load(HEAD + "def f(M: Bag[Movie]):\n    return M\n")
    (tmp_path / "films.py").write_text(HEAD + "def g(M: Bag[Movie]):\n    return M + M\n", encoding="utf-8")
    with pytest.raises(Unsupported, match="cannot be read"):
        view(module.f)


# ---------------------------------------------------------------- limits


def negated(levels: int) -> Expr:
    e: Expr = Empty(t.STRING)
    for _ in range(levels - 1):
        e = Neg(e)
    return e


def test_limits_of_terms() -> None:
    check_limits(negated(100))
    with pytest.raises(TooDeep):
        check_limits(negated(101))
    shared: Expr = Empty(t.STRING)
    for _ in range(14):
        shared = Plus(shared, shared)
    check_limits(shared)
    for _ in range(60):
        shared = Plus(shared, shared)
    with pytest.raises(TooBig):
        check_limits(shared)


def test_limits_of_sources() -> None:
    check_source("é" * (MAX_SOURCE // 2))
    with pytest.raises(TooBig, match="too big"):
        check_source("é" * (MAX_SOURCE // 2) + "x")


@pytest.mark.parametrize(
    ("expr", "kind"),
    [
        ("[" + "(" * 90 + "m.year" + " + 1)" * 90 + " for m in M]", None),
        ("[" + "m.year" + " + 1" * 110 + " for m in M]", TooDeep),
        ("[1 " + "for m in M " * 120 + "]", TooDeep),
        ("[1 for m in M" + " if m.year > 1" * 120 + "]", TooDeep),
        ("[" + "-" * 150 + "m.year for m in M]", TooDeep),
        ("[m.year in (" + "1, " * 9_000 + ") for m in M]", None),
        ("[m.year in (" + "1, " * 60_000 + ") for m in M]", TooBig),
        ("[" + ", ".join(["m"] * 9) + " for m in M]", None),
    ],
    ids=["deep", "sum", "fors", "ifs", "minus", "in", "big in", "tuple"],
)
def test_limits_of_views(load: Callable[[str], Any], expr: str, kind: type[QueryError] | None) -> None:
    if kind is None:
        load(VIEW + expr.replace("m, m, m, m, m, m, m, m, m", "(m, m)")).v.query  # noqa: B018
        return
    with pytest.raises(kind):
        load(VIEW + expr + "\n")


def test_limits_of_helpers(load: Callable[[str], Any]) -> None:
    """Helpers that unfold into more than the limits, and deeper than Python's stack."""
    double = "".join(f"def d{i}(x):\n    return d{i - 1}(x) + d{i - 1}(x)\n\n" for i in range(1, 30))
    with pytest.raises(TooBig):
        load(HEAD + "def d0(x):\n    return x\n\n" + double + "@view\ndef v(M: Bag[Movie]):\n    return d29(M)\n")
    chain = "".join(f"def d{i}(x):\n    return d{i - 1}(x)\n\n" for i in range(1, 400))
    with pytest.raises(TooDeep):
        load(HEAD + "def d0(x):\n    return x\n\n" + chain + "@view\ndef v(M: Bag[Movie]):\n    return d399(M)\n")
    lets = "".join("    x = x + x\n" for _ in range(18))
    with pytest.raises(TooBig) as caught:
        load(HEAD + f"def big(x):\n{lets}    return x\n\n" + VIEW.removeprefix(HEAD) + "[big(m.year) for m in M]\n")
    assert "    x = x + x\n" in str(caught.value)
    assert sys.getrecursionlimit() <= 1000


def test_names_that_are_ours_need_no_hint() -> None:
    assert not [name for name in hints.OURS if hasattr(rn, name)]


@pytest.mark.parametrize(("many", "returns", "kind"), [(90, True, None), (2000, True, TooDeep), (40, False, TooBig)])
def test_many_ifs_are_read_or_refused(
    load: Callable[[str], Any], many: int, returns: bool, kind: type[QueryError] | None
) -> None:
    """Each is one level deeper; what goes on behind those that do not return is read for each of their branches."""
    branch = "return {0}" if returns else "x = x + {0}"
    ifs = "".join(f"    if x == {n}:\n        {branch.format(n)}\n" for n in range(many))
    text = f"{HEAD}def kind(x):\n{ifs}    return x\n\n{VIEW.removeprefix(HEAD)}[kind(m.year) for m in M]\n"
    if kind is None:
        load(text)
        return
    with pytest.raises(kind):
        load(text)


@pytest.mark.parametrize(
    ("made", "possible"),
    [(lambda: rn.Decimal(12, 2), "rn.Decimal[10, 2] as a type"), (lambda: rn.Bag(int), "Bag[...] as a type")],
)
def test_annotations_are_no_values(made: Callable[[], object], possible: str) -> None:
    with pytest.raises(TypeMismatch, match="annotation only") as found:
        made()
    assert possible in str(found.value)
