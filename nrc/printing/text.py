"""Names, constants and types as text that is safe to print, and that is read back: the leaves of ``pretty``.

A name that is a plain word or path is printed as it is. Any other is put in backticks, with its control, invisible and
direction-changing characters escaped, so that it cannot look like notation or change what a terminal shows. Strings
are in double quotes.

A constant without a type in front is a bool, long, double, string or binary that is not NULL; every other says its
type: ``int 5``, ``date "2024-02-29"``, ``string? null``.
"""

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import assert_never

from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.reserved import SHARED
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Bag, Base, Dict, Label, Record, Type, optional
from ripplenest.nrc.values import literal_type

_WORD = r"[^\W\d]\w*"
_PATH = rf"{_WORD}(?:\.(?:{_WORD}|\[\]))*"
WORD, PATH = re.compile(_WORD), re.compile(_PATH)
# What the compiler calls its maps: ``view/D[site]`` and ``M/0123456789abcdef``. Elsewhere a slash divides.
PART = re.compile(rf"{_PATH}/{_WORD}\[{_PATH}\]|{SHARED}")
# Words that begin an expression, or go between two: no variable, relation or map is called so without backticks.
RESERVED = re.compile(
    r"and|bool|binary|date|decimal|double|false|for|in|int|is|let|long|mod|not|null|or|sng|string|timestamp|true|union"
    r"|where[₀-₉]*"
)
# ΔR and Δʹ`a b` are changes of R and of `a b`.
_LOOKS_CHANGED = ("Δ", "ʹ")

_PLAIN = (BOOL, LONG, DOUBLE, STRING, Base("binary"))


def plain_name(name: str) -> bool:
    """True for a word."""
    return WORD.fullmatch(name) is not None and name.isprintable()


def path(name: str) -> str:
    """A field, parameter or site: as it is when it is a path of words, else in backticks."""
    return name if PATH.fullmatch(name) and name.isprintable() else quoted_name(name)


def part(name: str) -> str:
    """A relation or map: as it is when it looks like one, else in backticks."""
    looks = (PATH.fullmatch(name) or PART.fullmatch(name)) and not RESERVED.fullmatch(name)
    return name if looks and name.isprintable() and not name.startswith(_LOOKS_CHANGED) else quoted_name(name)


def variable(name: str) -> str:
    """A variable of a for: as it is when it is a word, else in backticks."""
    return name if plain_name(name) and not RESERVED.fullmatch(name) else quoted_name(name)


def let_variable(name: str) -> str:
    """A variable of a let; those that passes make may end in ⁺."""
    stem = name.removesuffix("⁺")
    return stem + name[len(stem) :] if variable(stem) == stem else quoted_name(name)


def quoted_name(name: str) -> str:
    """``name`` in backticks; what does not print is escaped."""
    inner = quoted(name)[1:-1].replace("`", "\\u0060")
    return f"`{inner}`"


def quoted(text: str) -> str:
    """``text`` in double quotes; what does not print is escaped."""
    return printable(json.dumps(text, ensure_ascii=False))


_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/", "`": "`"}


def unquoted(text: str) -> str:
    """What ``quoted`` or ``quoted_name`` wrote. Raises ValueError for an escape that neither writes."""
    return _ESCAPED.sub(_unescape, text[1:-1])


def _unescape(found: re.Match[str]) -> str:
    short = found[3]
    if short is not None and short not in _SHORT:
        raise ValueError(f"there is no escape \\{short}")
    c = _SHORT[short] if short is not None else chr(int(found[1] or found[2], 16))
    if "\ud800" <= c <= "\udfff":
        raise ValueError("a lone surrogate is not Unicode text")
    return c


# ---------------------------------------------------------------- constants


def literal(value: object, base: Base) -> str:
    """A constant."""
    plain = value is not None and base in _PLAIN
    text = _constant(value)
    if plain and not (text.startswith('"') and base != STRING):
        return text
    tight = value is not None and base.kind == "decimal" and base == literal_type(value)
    return f"{base.kind if tight else base} {text}"


def _constant(value: object) -> str:
    """The value alone; ``constant`` reads it back, given its type. For people: JSON has ``nrc/serial.py``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case bytes():
            return f"0x{value.hex()}"
        case float() if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
            return f'"{value}"'
        case Decimal() | date():
            return f'"{value}"'
        case _:
            return f"{value}"


def constant(text: str, base: Base) -> object:
    """The value that ``text``, without its quotes, stands for as a ``base``. Raises ValueError or ArithmeticError."""
    match base.kind:
        case "bool":
            return {"true": True, "false": False}.get(text)
        case "int" | "long":
            if len(text) > 20:  # a 64-bit integer has 19 digits and a sign
                raise ValueError("an integer with too many digits")
            return int(text)
        case "double":
            return float(text)
        case "decimal":
            return Decimal(text)
        case "string":
            return text
        case "date":
            return date.fromisoformat(text)
        case "timestamp":
            found = datetime.fromisoformat(text)
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found
        case "binary":
            return bytes.fromhex(text.removeprefix("0x"))
        case _:
            assert_never(base.kind)


# ---------------------------------------------------------------- types


def show_type(t: Type) -> str:
    """A type on one line."""
    match t:
        case Base():
            return str(t)
        case Record() if t.is_optional and optional(t.there) == t:  # flat rows of ∅ have labels that are never NULL
            return show_type(t.there) + "?"
        case Record(fields):
            return "⟨" + ", ".join(f"{path(name)}: {show_type(f)}" for name, f in fields) + "⟩"
        case Bag(row, null):
            return f"Bag({show_type(row)})" + ("?" if null else "")
        case Label(sites, null):
            return "𝕃{" + ", ".join(path(s.name) for s in sites) + "}" + ("?" if null else "")
        case Dict(row):
            return f"𝕃 ↦ Bag({show_type(row)})"
        case _:
            assert_never(t)
