"""Names, constants and types as text that is safe to print: the leaves of ``pretty``.

A name that is a plain word or path is printed as it is. Any other is put in backticks, with its control, invisible and
direction-changing characters escaped, so that it cannot look like notation or change what a terminal shows. Strings
are in double quotes.
"""

import json
import re
from typing import assert_never

from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type

# What the compiler calls its maps (``view/D[site]``), and the parts of nested relations (``R.a.[]``).
_PART = re.compile(r"\w+((\.|/)(\w+|\[\]))*(\[\w+((\.|/)(\w+|\[\]))*\])?")
_QUOTED_KINDS = frozenset({"date", "timestamp", "decimal"})


def plain_name(name: str) -> bool:
    """True for an identifier."""
    return name.isidentifier() and name.isprintable()


def path(name: str) -> str:
    """A field, parameter or site: as it is when it is a path of identifiers, else in backticks."""
    return name if all(plain_name(p) for p in name.split(".")) else quoted_name(name)


def part(name: str) -> str:
    """A relation, map or variable: as it is when it looks like one, else in backticks."""
    return name if _PART.fullmatch(name) and name.isprintable() else quoted_name(name)


def variable(name: str) -> str:
    """A variable: as it is when it is an identifier, else in backticks."""
    return name if plain_name(name) else quoted_name(name)


def quoted_name(name: str) -> str:
    """``name`` in backticks; what does not print is escaped."""
    inner = quoted(name)[1:-1].replace("`", "\\u0060")
    return f"`{inner}`"


def quoted(text: str) -> str:
    """``text`` in double quotes; what does not print is escaped."""
    return printable(json.dumps(text, ensure_ascii=False))


def printable(text: str) -> str:
    """``text`` with what does not print escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def literal(value: object, base: Base) -> str:
    """A constant; the kinds that have no notation of their own are named: ``date "2024-02-29"``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case bytes():
            return f"0x{value.hex()}"
        case _:
            text = f"{value}"
            return f'{base.kind} "{text}"' if base.kind in _QUOTED_KINDS else text


def show_type(t: Type) -> str:
    """A type on one line."""
    match t:
        case Base():
            return str(t)
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
