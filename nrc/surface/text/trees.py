"""Text to syntax tree, by lark's LALR parser, which does not recurse; and the place of an error as a user sees it."""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Literal

from attrs import frozen
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ripplenest.nrc.errors import ParseError, RipplenestError
from ripplenest.nrc.limits import check_source
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.surface.text.advice import Stop, advice, marks, remark
from ripplenest.nrc.surface.text.words import wanted

Node = Tree[Token]
Start = Literal["file", "expr", "type"]
SHOWN = 100  # columns of a source line that a message shows


@frozen
class Place:
    """A stretch of the source, its lines and columns counted from 1; the end is just behind it."""

    line: int
    column: int
    end_line: int
    end_column: int


@frozen
class Text:
    """A source: its lines, and what messages call it."""

    name: str
    lines: tuple[str, ...]

    def where(self, place: Place) -> str:
        """``file:line:column``."""
        return f"{self.name}:{place.line}:{place.column}"

    def caret(self, place: Place) -> tuple[str, str]:
        """The line of ``place``, and the part that is meant underlined; of several lines, the first."""
        line = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        first = max(0, place.column - 1 - SHOWN // 2)  # of a long line, what is around the place
        end = place.end_column - 1 if place.end_line == place.line else len(line)
        before, meant = line[first : place.column - 1], line[place.column - 1 : end][: SHOWN // 2]
        after = line[place.column - 1 + len(meant) :][: SHOWN // 2]
        start, under = _shown(before).lstrip(), "^" * max(1, len(_shown(meant)))
        return f"    {start}{_shown(meant)}{_shown(after).rstrip()}", f"    {' ' * len(start)}{under}"

    @contextmanager
    def located(self, node: Node | Token) -> Iterator[None]:
        """Says where an error was found, unless a place further inside has said so already."""
        try:
            yield
        except RipplenestError as error:
            if not error.where:
                place = place_of(node)
                error.where = self.where(place)
                error.excerpt += self.caret(place)
            raise

    def error(self, what: str, place: Place, **parts: object) -> ParseError:
        """``what`` at ``place``."""
        error = ParseError(what, where=self.where(place), **parts)  # type: ignore[arg-type]
        error.excerpt += self.caret(place)
        return error


def _shown(piece: str) -> str:
    return printable(piece.replace("\t", " "))


def place_of(node: Node | Token) -> Place:
    """Where ``node`` is. A tree without any token (an empty file) is at the beginning."""
    at = node if isinstance(node, Token) else node.meta
    found = [getattr(at, name, None) or 1 for name in ("line", "column", "end_line", "end_column")]
    return Place(*found)


def source(text: str, name: str) -> Text:
    """``text`` with the name that messages use. Raises TooBig."""
    check_source(text)
    return Text(name, tuple(text.split("\n")))


def tree(text: str, source: Text, start: Start) -> Node:
    """The syntax tree of ``text``. Raises ParseError with what was expected."""
    fed: list[Token] = []
    parser = _parser().parse_interactive(text, start)
    try:
        for token in _tokens(parser):
            parser.feed_token(token)
            fed.append(token)
        found: Node = parser.feed_eof(Token("$END", ""))  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise _error(error, _stop(error, start, fed), source) from None
    return found


def _tokens(parser: InteractiveParser) -> Iterator[Token]:
    yield from parser.lexer_thread.lex(parser.parser_state)  # type: ignore[no-untyped-call]


def _stop(error: UnexpectedInput, start: Start, fed: Sequence[Token]) -> Stop:
    """Where the parser stopped; the token that it refused has made it close what was open before."""
    parser = _parser().parse_interactive(start=start)
    for token in fed:
        parser.feed_token(token)
    accepts: Set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    came = error.token if isinstance(error, UnexpectedToken) else getattr(error, "char", "")
    return Stop(str(came), getattr(came, "type", ""), fed, marks(parser.parser_state.value_stack), accepts)


@cache
def _parser() -> Lark:
    grammar = files("ripplenest.nrc").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=["file", "expr", "type"], propagate_positions=True)


def _error(error: UnexpectedInput, stop: Stop, source: Text) -> ParseError:
    what, expected, possible = f"this cannot stand here{remark(stop)}", wanted(stop.accepts), advice(stop) or None
    match error:
        case UnexpectedToken(token=Token(type="$END")):
            line, column = len(source.lines), len(source.lines[-1]) + 1
            what = f"the text ends here{remark(stop)}"
            return source.error(what, Place(line, column, line, column), wanted=expected, possible=possible)
        case UnexpectedToken(token=token):
            return source.error(what, place_of(token), wanted=expected, got=_got(token), possible=possible)
        case UnexpectedCharacters(line=line, column=column, char=char):
            place = Place(line, column, line, column + 1)
            if char in _OPEN:
                return source.error(f"{_OPEN[char]} without an end on its line", place, wanted=f"another {char}")
            return source.error(what, place, wanted=expected, got=printable(char), possible=possible)
        case _:
            raise AssertionError(f"no error of an LALR parser: {error!r}")


_OPEN = {'"': "a string", "`": "a name in backticks"}


def _got(text: str) -> str:
    return printable(text if len(text) <= SHOWN // 2 else f"{text[: SHOWN // 2]}…")
