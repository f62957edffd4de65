"""The text surface: ``.nrc`` files of records, relations and views, and the terms that ``show`` prints, read back.

text → tree (``trees``, ``nrc/grammar.lark``) → typed terms (``terms``, ``elements``, ``dictionaries``, ``kinds``) →
relations and views (``files``).
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
