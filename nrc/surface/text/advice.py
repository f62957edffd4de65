"""What a message advises: names that are nearly right, habits of other languages, brackets that nobody closed."""

from collections.abc import Iterable, Iterator, Sequence, Set
from difflib import get_close_matches

from attrs import frozen
from lark import Token, Tree

from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.surface.text.words import KEYWORDS, keyword

LONGEST = 60  # characters of a name that is compared with others
_PAIRS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE", "ANGLE": "END_ANGLE", "LT": "GT"}
_DECLARATIONS = ("record", "relation", "view")
# Where these come, the bracket before them should have been closed; > is left out, as it may compare.
_CLOSING = frozenset(("$END", "_RECORD", "_RELATION", "_VIEW", "RPAR", "RSQB", "RBRACE", "END_ANGLE"))

COMPREHENSION = "`[e | x in X, c]`: generators and conditions come after the bar, with commas between them"
CONDITIONAL = "`if(c, a, b)`"
FIRST = "top[α](3, x in xs order x.price desc)"

_CAME = {
    "'": 'double quotes around a string: "Oslo"',
    "&": "and",
    "%": "mod",
    "!": "not x, x != y",
    "|": "or, between conditions",
    "not": "not x in (a, b), x is not null",
    "for": COMPREHENSION,
    **dict.fromkeys(("if", "then", "else", "when"), CONDITIONAL),
}
_CAME_BEHIND_A_BAR = {"if": COMPREHENSION, "where": COMPREHENSION}
_CAME_AFTER = {("=", "="): "a single =", ("<", ">"): "!= or ≠"}
_AFTER = {"if": CONDITIONAL}

_FUNCTIONS = {
    **dict.fromkeys(("sort", "sorted", "top", "limit"), (FIRST,)),
    "len": ("count(xs), of a bag", "length(x), of a string"),
    "group": ("group[α](x in xs by key: x.key of n: count())",),
}


@frozen
class Stop:
    """Where a parser stopped: at a token ``came`` of a type (a character that begins no token has none).

    ``before``: what it read. ``marks``: the brackets that are open and the bars in them, the innermost last.
    ``accepts``: the terminals that may stand here.
    """

    came: str
    type: str
    before: Sequence[Token]
    marks: Sequence[Token]
    accepts: Set[str]

    @property
    def last(self) -> str:
        return str(self.before[-1]) if self.before else ""

    @property
    def unclosed(self) -> Token | None:
        """The bracket that should have been closed before what came."""
        inner = next((m for m in reversed(self.marks) if m.type != "VBAR"), None)
        if inner is None or _PAIRS[inner.type] == self.type:
            return None
        declares = self.last in _DECLARATIONS and self.type == "NAME"  # where a name may stand, view is one
        return inner if self.type in _CLOSING or declares or self._bars(inner) else None

    def _bars(self, inner: Token) -> bool:
        """True for a bar that belongs to a list further outside than ``inner``."""
        lists = [m.type for m in self.marks if m.type in ("LSQB", "VBAR")]
        return self.type == "VBAR" and lists[-1:] == ["LSQB"] and inner.type != "LSQB"


def marks(stack: Sequence[object]) -> list[Token]:
    """The open brackets on the stack of a parser, and bars in them; a ``<`` behind an expression compares."""
    return [
        item
        for i, item in enumerate(stack)
        if isinstance(item, Token) and item.type in (*_PAIRS, "VBAR")
        if item.type != "LT" or i == 0 or not isinstance(stack[i - 1], Tree)
    ]


def remark(stop: Stop) -> str:
    """What is known about the mistake itself, to be put behind what was wrong."""
    bracket = stop.unclosed
    if bracket is not None:
        return f": `{bracket}` of {bracket.line}:{bracket.column} is not closed"
    words = sorted(keyword(t) for t in stop.accepts & KEYWORDS)
    return _did_you_mean(near(stop.came, words)) if stop.type == "NAME" else ""


def advice(stop: Stop) -> list[str]:
    """What is written here instead by whoever knows the language."""
    return list(dict.fromkeys(_advice(stop)))


def _advice(stop: Stop) -> Iterator[str]:
    if (stop.last, stop.came) in _CAME_AFTER:
        yield _CAME_AFTER[stop.last, stop.came]
    if stop.last in _AFTER:
        yield _AFTER[stop.last]
    inner = stop.marks[-1].type if stop.marks else ""
    if inner in ("LSQB", "VBAR") and stop.type in ("RSQB", "COMMA") and "_UNION" in stop.accepts:
        yield COMPREHENSION  # a for without union
    if inner == "VBAR" and stop.came in _CAME_BEHIND_A_BAR:
        yield _CAME_BEHIND_A_BAR[stop.came]
    elif stop.came in _CAME:
        yield _CAME[stop.came]


# ---------------------------------------------------------------- names


def near(name: str, known: Iterable[str]) -> list[str]:
    """Those of ``known`` that look like ``name``, the nearest first, whatever their case is."""
    if len(name) > LONGEST:
        return []
    spellings: dict[str, list[str]] = {}
    for k in known:
        spellings.setdefault(k.casefold(), []).append(k)
    return [k for folded in get_close_matches(name.casefold(), spellings) for k in dict.fromkeys(spellings[folded])]


def _did_you_mean(close: Sequence[str]) -> str:
    return f"; did you mean {close[0]}?" if close else ""


def unknown(what: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a ``name`` that is none of ``known``, which are listed with the nearest first."""
    possible = list(dict.fromkeys(known))
    close = near(name, possible)
    rest = [k for k in possible if k not in close]
    return UnknownName(f"{what}{_did_you_mean(close)}", got=name, possible=[*close, *rest])


def no_function(name: str, known: Iterable[str]) -> UnknownName:
    """The error for a function that is none of ``known``."""
    what, other = f"there is no function {name!r}", _FUNCTIONS.get(name.casefold())
    return UnknownName(what, got=name, possible=other) if other else unknown(what, name, known)
