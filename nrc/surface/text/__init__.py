"""The text surface: ``.nrc`` files of records, relations and views, and the terms that ``show`` prints, read back.

text → tree (``trees``, ``nrc/grammar.lark``) → typed terms (``terms``, ``elements``, ``dictionaries``, ``kinds``) →
relations and views (``files``).

The text is the inverse of show. One LALR grammar (``nrc/grammar.lark``) with a single ladder of precedence serves
bags, dictionaries and scalars; the reader decides by place and type which a node is. Types that the text does not say
(relations, dictionaries, label sites) come from an ``Environment``. Sugar is exactly what ``show`` never prints. LALR
does not recurse, and readers count levels before they do.
"""

from ripplenest.nrc.surface.text.environment import Environment, environment_of
from ripplenest.nrc.surface.text.files import Declared, Program, TextView, parse_file, read_file
from ripplenest.nrc.surface.text.notation import parse_dict, parse_elem, parse_expr, parse_type

__all__ = [
    "Declared",
    "Environment",
    "Program",
    "TextView",
    "environment_of",
    "parse_dict",
    "parse_elem",
    "parse_expr",
    "parse_file",
    "parse_type",
    "read_file",
]
