"""Where a node is read: the names it sees, the source it stands in, and the limits of one term."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from attrs import define, evolve, field, frozen
from lark import Token, Tree

from ripplenest.nrc.errors import ParseError, TooBig, TooDeep
from ripplenest.nrc.limits import MAX_DEPTH, MAX_NODES
from ripplenest.nrc.printing.text import unquoted
from ripplenest.nrc.surface.readings import BagTerm, Element
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.trees import Node, Text
from ripplenest.nrc.syntax import PRIME, At
from ripplenest.nrc.types import Bag
from ripplenest.nrc.walk import Names


@define
class Session:
    """What one term's reading shares: names that no text of it has, and the limits."""

    names: Names = field(factory=Names)
    depth: int = 0
    nodes: int = 0

    @contextmanager
    def level(self) -> Iterator[None]:
        """One node, one level deep. Raises TooDeep or TooBig."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooBig("the term is too big", wanted=f"at most {MAX_NODES} nodes")
        if self.depth >= MAX_DEPTH:
            possible = ["brackets that halve a long sum"]
            raise TooDeep("the term is nested too deeply", wanted=f"at most {MAX_DEPTH} levels", possible=possible)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


@frozen
class Scope:
    """``pi``: what for-variables and the parameters of a definition stand for. ``gamma``: let-variables.

    ``views``: the views above in the file. ``path``: the view's name and the fields around, of which sites are named.
    """

    text: Text
    session: Session
    env: Environment
    pi: Mapping[str, Element]
    gamma: Mapping[str, Bag]
    views: Mapping[str, BagTerm] = field(factory=dict)
    path: tuple[str, ...] = ()

    @contextmanager
    def at(self, node: Node | Token) -> Iterator[None]:
        """``node``, one level deep; an error that has no place yet gets the place of ``node``."""
        with self.text.located(node), self.session.level():
            yield

    def bind(self, new: Mapping[str, Element]) -> "Scope":
        return evolve(self, pi={**self.pi, **new})

    def bind_let(self, name: str, bag: Bag) -> "Scope":
        return evolve(self, gamma={**self.gamma, name: bag})

    def within(self, name: str) -> "Scope":
        return evolve(self, path=(*self.path, name))

    @property
    def site(self) -> str:
        """ι of an inner bag made here; sites that come out alike are numbered in the end."""
        return ".".join(self.path if len(self.path) > 1 else (*self.path, "item"))


@frozen
class PartName:
    """R, ΔR, ΔʹR or R⁺ as it is written; ``key`` is the text without backticks, which a let-variable may have, too."""

    name: str
    at: At
    order: int
    key: str


def spelled(name: Node) -> str:
    """What a name says. Raises ParseError, located by the caller, for an escape that means nothing."""
    token = name.children[0]
    assert isinstance(token, Token)
    if token.type != "QUOTED":
        return str(token)
    try:
        return unquoted(token)
    except ValueError as error:
        raise ParseError(f"not a name: {error}") from None


def is_quoted(name: Node) -> bool:
    """True for a name in backticks, which is one word whatever is in it."""
    token = name.children[0]
    return isinstance(token, Token) and token.type == "QUOTED"


def part_name(node: Node) -> PartName:
    """The stored part that a node ``name``, ``new`` or ``change`` spells."""
    if node.data == "change":
        glyph, name = node.children
        assert isinstance(glyph, Token) and isinstance(name, Tree)
        return PartName(spelled(name), At.DELTA, len(glyph), f"{glyph}{spelled(name)}")
    if node.data == "new":
        name = node.children[0]
        assert isinstance(name, Tree)
        return PartName(spelled(name), At.NEW, 1, f"{spelled(name)}⁺")
    word = spelled(node)
    plain = word.removeprefix("Δ")
    if is_quoted(node) or plain == word:
        return PartName(word, At.OLD, 1, word)
    bare = plain.lstrip(PRIME)
    return PartName(bare, At.DELTA, 1 + len(plain) - len(bare), word)
