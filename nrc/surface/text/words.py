"""What a message calls the terminals of the grammar: words that a user understands."""

from collections.abc import Iterator, Set

_EXPRESSION = frozenset((
    *("STRING", "INT", "FLOAT", "BYTES", "TRUE", "FALSE", "EMPTY", "DELTA", "LSQB", "LBRACE", "_SNG"),
))  # fmt: skip
_CLOSING = frozenset(("RPAR", "RSQB", "RBRACE", "END_ANGLE"))
_TYPE = frozenset(("KIND", "_BAG"))
_OPERATOR = frozenset((
    *("OR", "AND", "EQ", "NE", "LT", "LE", "GT", "GE", "SAME", "_IS", "_IN", "BAG_PLUS", "BAG_MINUS", "LABEL_UNION"),
    *("PLUS", "MINUS", "TIMES", "DOT", "STAR", "SLASH", "FLOOR", "MOD", "ELEMENT"),
))  # fmt: skip
KEYWORDS = frozenset((
    *("_RECORD", "_RELATION", "_VIEW", "_KEY", "_FOR", "_IN", "_UNION", "_LET", "_IS", "_SNG", "_BAG", "WHERE"),
    *("NULL", "TRUE", "FALSE", "OR", "AND", "NOT", "MOD"),
))  # fmt: skip
# What may follow nearly everything, and would hide what is meant.
_POSTFIX = frozenset(("NEW", "LPAR", "NULLABLE", "ANGLE", "PERIOD", "AT"))

_WORDS = {
    "NAME": "a name", "QUOTED": "a name", "PART": "a name", "STRING": "a string", "INT": "a whole number",
    "FLOAT": "a number", "BYTES": "bytes (0x…)", "KIND": "a base type", "_BAG": "Bag", "LABEL": "𝕃", "NEW": "⁺",
    "_MAPS_TO": "↦", "$END": "the end", "IOTA": "ι", "EMPTY": "∅", "DELTA": "Δ", "NULLABLE": "?", "LPAR": "(",
    "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}", "COMMA": "a comma", "COLON": ":",
    "SEMICOLON": ";", "VBAR": "|", "AT": "@", "EQ": "=", "LT": "<", "GT": ">", "MINUS": "-", "BAG_MINUS": "⊖",
    "ANGLE": "⟨", "END_ANGLE": "⟩", "PERIOD": ".", "ASSIGN": ":=",
}  # fmt: skip


def wanted(terminals: Set[str]) -> str:
    """``terminals`` in words: ``an operator, union or where``."""
    words = list(dict.fromkeys(_words(frozenset(terminals))))
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _words(terminals: frozenset[str]) -> Iterator[str]:
    rest = terminals
    if terminals >= _EXPRESSION:
        yield "an expression"
        rest &= _CLOSING
    elif terminals >= _TYPE:
        yield "a type"
        rest &= _CLOSING
    elif "PLUS" in terminals:
        yield "an operator"
        rest -= _OPERATOR | _POSTFIX
    for name in sorted(rest, key=keyword):
        yield _WORDS.get(name) or keyword(name)


def keyword(terminal: str) -> str:
    """``for`` of ``_FOR``: terminals are called like the words that they are."""
    word = terminal.removeprefix("_").lower()
    return word.capitalize() if word == "bag" else word
