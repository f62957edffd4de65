"""Type trees to types."""

from collections.abc import Mapping
from typing import TypeVar, cast, get_args

from lark import Token, Tree

from ripplenest.nrc.errors import ParseError
from ripplenest.nrc.surface.text.advice import unknown
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.scope import Session, spelled
from ripplenest.nrc.surface.text.trees import Node, Text
from ripplenest.nrc.types import Bag, Base, Dict, Kind, Label, Record, Site, Type, optional
from ripplenest.nrc.values import MAX_DIGITS

T = TypeVar("T")
KINDS = ("bool", "int", "long", "double", "decimal(p,s)", "string", "date", "timestamp", "binary")


def read_type(
    node: Node, text: Text, env: Environment, session: Session, records: Mapping[str, Type] | None = None
) -> Type:
    """The type that ``node`` is; ``records`` are the named ones. Raises ParseError, UnknownName, TooDeep or TooBig."""

    def read(node: Node) -> Type:
        with text.located(node), session.level():
            return kind(node)

    def kind(node: Node) -> Type:
        children = node.children
        match node.data, children:
            case "base", [Token() as name, digits, scale, flag]:
                return base_type(str(name), digits, scale, flag)
            case "named", [Tree() as name, flag]:
                found = _record(spelled(name), records or {})
                return optional(found) if flag else found
            case "bag", [Tree() as row, flag]:
                return Bag(read(row), flag is not None)
            case "dictionary_type", [_, Tree() as row]:
                return Dict(read(row))
            case "label_type", [_, names, flag]:
                found_sites = [] if names is None else [site(spelled(n), env) for n in subtrees(names)]
                return Label(tuple(found_sites), flag is not None)
            case "record_type", [*_, flag]:
                found = Record(tuple(unique(text, [(n, spelled(n), read(t)) for n, t in map(pair, subtrees(node))])))
                return optional(found) if flag else found
            case _:
                raise AssertionError(f"no type of the grammar: {node.data}")

    return read(node)


def base_type(name: str, digits: object, scale: object, flag: object) -> Base:
    """A base type of a ``KIND``; only decimals have digits, and all of them do."""
    if (digits is None) != (name != "decimal"):
        wanted = "decimal(p,s)" if name == "decimal" else name
        raise ParseError("only decimals have digits, and they need them", wanted=wanted)
    if digits is None:
        return Base(_kind(name), flag is not None)
    p, s = (int(str(d)) if len(str(d)) < 4 else MAX_DIGITS + 1 for d in (digits, scale))
    if not 0 <= s <= p <= MAX_DIGITS or p == 0:
        raise ParseError("digits that no decimal has", wanted=f"decimal(p,s) with s ≤ p and 0 < p ≤ {MAX_DIGITS}")
    return Base("decimal", flag is not None, p, s)


def _kind(name: str) -> Kind:
    found = next(k for k in get_args(Kind) if k == name)
    return cast(Kind, found)


def _record(name: str, records: Mapping[str, Type]) -> Type:
    if name not in records:
        raise unknown(f"there is no type {name!r}", name, [*KINDS, "Bag(…)", "⟨name: …⟩", *records])
    return records[name]


def site(name: str, env: Environment) -> Site:
    """The site ``name``. Raises UnknownName."""
    if name not in env.sites:
        raise unknown(f"there is no site {name!r}", name, sorted(env.sites))
    return env.sites[name]


def subtrees(node: object) -> list[Node]:
    """The children that are trees: not tokens, and not what was left out."""
    assert isinstance(node, Tree)
    return [c for c in node.children if isinstance(c, Tree)]


def pair(node: Node) -> tuple[Node, Node]:
    """``name: …``"""
    name, value = subtrees(node)
    return name, value


def unique(text: Text, fields: list[tuple[Node, str, T]]) -> list[tuple[str, T]]:
    """The fields of a record. Raises ParseError when two have one name."""
    names: set[str] = set()
    for node, name, _ in fields:
        with text.located(node):
            if name in names:
                raise ParseError("a record has each field once", got=name)
        names.add(name)
    return [(name, value) for _, name, value in fields]
