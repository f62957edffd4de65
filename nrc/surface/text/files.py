"""``.nrc`` files: records, relations with keys, and views, in this order or mixed; what is used is declared above.

    record Movie = ⟨name: string, gen: string?, dir: string?⟩
    relation M : Bag(Movie) key name
    view dramas = [{name: m.name} | m in M, m.gen = "Drama"]
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from attrs import define, field, frozen
from lark import Tree

from ripplenest.nrc.arguments import flag, local_path
from ripplenest.nrc.arguments import text as check_text
from ripplenest.nrc.assumed import assumed
from ripplenest.nrc.border import bordered, public
from ripplenest.nrc.errors import ParseError, QueryError, TooBig, TypeMismatch, UnknownName, UnknownView, Unsupported
from ripplenest.nrc.limits import MAX_SOURCE, check_limits
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.reserved import POSSIBLE, TAKEN, of_a_map
from ripplenest.nrc.surface import markers
from ripplenest.nrc.surface.names import name_apart
from ripplenest.nrc.surface.readings import BagTerm
from ripplenest.nrc.surface.records import is_field_name, record
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.kinds import read_type, subtrees
from ripplenest.nrc.surface.text.notation import scope_of
from ripplenest.nrc.surface.text.scope import Session, spelled
from ripplenest.nrc.surface.text.terms import read_bag
from ripplenest.nrc.surface.text.trees import Node, Place, Text, source, tree
from ripplenest.nrc.syntax import Assumed, Query, Rel
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import EXISTS, Bag, Base, Record, Type, optional
from ripplenest.nrc.walk import nodes


@frozen
class Declared:
    """A relation of a file: its rows, and the fields of its key if it has one."""

    name: str
    row: Type
    key: tuple[str, ...]

    @property
    def annotation(self) -> Any:
        """The rows as ``Database.relation`` takes them. Raises Unsupported for fields whose names are no words."""
        return _annotation(self.row, self.name)


@frozen
class TextView:
    """A view of a file. ``query`` is its term, ``row`` the type of its rows."""

    name: str
    query: Query
    row: Type
    _again: Callable[[Mapping[str, Type]], Query] = field(eq=False, repr=False)

    def assumes(self) -> tuple[Assumed, ...]:
        """What it takes for granted of its relations."""
        return assumed(self.query, self._again)


@frozen
class WrongView:
    """A view of a file that has no meaning, below ``above`` views that have one; without a name the record or relation
    that ended the reading."""

    name: str | None
    error: QueryError
    above: int


@frozen
@public
class Program:
    """What a file declares, in its order; ``wrong`` is what was left out of it (``read``, not ``strict``)."""

    relations: tuple[Declared, ...]
    views: tuple[TextView, ...]
    wrong: tuple[WrongView, ...] = ()

    def view(self, name: str) -> TextView:
        """The view ``name``. Raises UnknownView."""
        for view in self.views:
            if view.name == name:
                return view
        raise UnknownView("there is no such view", got=name, possible=[v.name for v in self.views])

    def relation(self, name: str) -> Declared:
        """The relation ``name``. Raises UnknownName."""
        for relation in self.relations:
            if relation.name == name:
                return relation
        raise UnknownName("there is no such relation", got=name, possible=[r.name for r in self.relations])


@bordered
def read_file(path: Path | str, strict: bool = True) -> Program:
    """The program in a file, which is UTF-8. Raises ParseError or another QueryError with file, line and column.

    Not ``strict``, it goes on after a view that is wrong, which is not there for what follows.
    """
    try:
        with local_path(path, "read: path").open("rb") as file:
            raw = file.read(MAX_SOURCE + 1)
    except OSError as error:
        what, where = "the file cannot be read", printable(str(path))
        raise QueryError(what, where=where, wanted="a .nrc file", got=error.strerror) from error
    if len(raw) > MAX_SOURCE:
        raise TooBig("the source is too big", where=str(path), wanted=f"at most {MAX_SOURCE} bytes")
    try:
        return parse_file(raw.decode("utf-8-sig"), str(path), strict)
    except UnicodeDecodeError as error:
        good = raw[: error.start].decode("utf-8", "replace").split("\n")
        place = Place(len(good), len(good[-1]) + 1, len(good), len(good[-1]) + 2)
        got = f"the byte 0x{raw[error.start]:02x}"
        raise Text(str(path), tuple(good)).error("not text in UTF-8", place, got=got) from None


@bordered
def parse_file(text: str, where: str = "text", strict: bool = True) -> Program:
    """The program that ``text`` is; ``where`` is what messages call it, ``strict`` as of ``read``. Raises ParseError or
    another QueryError."""
    lines = source(check_text(text, "parse: text"), check_text(where, "parse: where"))
    flag(strict, "parse: strict")
    found = _Reading(lines, text)
    for node in subtrees(tree(text, lines, "file")):
        if strict:
            found.declare(node)
        elif not found.goes_on(node):
            break
    return Program(tuple(found.relations.values()), tuple(found.views.values()), tuple(found.wrong))


@define
class _Reading:
    """The declarations above the one that is read. Relations have other ``rows`` than the declared ones, if there are
    some."""

    lines: Text
    text: str
    records: dict[str, Type] = field(factory=dict)
    relations: dict[str, Declared] = field(factory=dict)
    views: dict[str, TextView] = field(factory=dict)
    wrong: list[WrongView] = field(factory=list)
    rows: Mapping[str, Type] = field(factory=dict)

    def goes_on(self, node: Node) -> bool:
        """Declare, or know that it is wrong; whether what follows can be read. Of a wrong record or relation nearly all
        that follows would be wrong for it."""
        is_view = node.data not in ("record_declaration", "relation_declaration")
        try:
            self.declare(node)
        except QueryError as error:
            name = spelled(subtrees(node)[0]) if is_view else None
            self.wrong.append(WrongView(name, error, len(self.views)))
            return is_view
        return True

    def declare(self, node: Node) -> None:
        """Raises QueryError with its place."""
        with self.lines.located(node):
            self._declare(node)

    def _declare(self, node: Node) -> None:
        with self.lines.located(subtrees(node)[0]):
            name = spelled(subtrees(node)[0])
            known = self.records if node.data == "record_declaration" else {**self.relations, **self.views}
            if name in known:
                raise ParseError(f"{name} is declared above", possible=["another name"])
            if node.data != "record_declaration" and of_a_map(name):
                raise ParseError(TAKEN, got=name, possible=POSSIBLE)
        match node.data:
            case "record_declaration":
                self.records[name] = self._type(subtrees(node)[1])
            case "relation_declaration":
                self.relations[name] = self._relation(name, node)
            case _:
                self.views[name] = self._view(name, subtrees(node)[1])

    def _type(self, node: Node) -> Type:
        found = read_type(node, self.lines, Environment(), Session(), self.records)
        with self.lines.located(node):
            _check_names(found)
        return found

    def _relation(self, name: str, node: Node) -> Declared:
        _, type_node, keys = node.children
        assert isinstance(type_node, Tree)
        with self.lines.located(type_node):
            found = self._type(type_node)
            if not isinstance(found, Bag) or found.nullable:
                raise TypeMismatch("a relation is a bag", wanted="Bag(…)", got=found, possible=["Bag(Movie)"])
        fields = subtrees(keys) if isinstance(keys, Tree) else []
        for key in fields:
            with self.lines.located(key):
                _check_key(spelled(key), found.row)
        return Declared(name, self.rows.get(name, found.row), tuple(map(spelled, fields)))

    def _view(self, name: str, node: Node) -> TextView:
        relations = {r.name: r.row for r in self.relations.values()}
        own = self.text[node.meta.start_pos : node.meta.end_pos]
        scope = scope_of(self.lines, own, Environment(relations, changes=False), (name,), self._terms())
        found = read_bag(node, scope)
        check_limits(found.expr)
        body = name_apart(found.expr)
        row = check(body).row
        used = {n.name for n in nodes(body) if isinstance(n, Rel)}
        read = tuple((n, t) for n, t in relations.items() if n in used)
        return TextView(name, Query(name, body, read, sorted=found.sorted), row, partial(self._again, name))

    def _again(self, name: str, rows: Mapping[str, Type]) -> Query:
        """The view ``name`` where relations have other ``rows``."""
        found = _Reading(self.lines, self.text, rows=rows)
        for node in subtrees(tree(self.text, self.lines, "file")):
            found.declare(node)
            if name in found.views:
                break
        return found.views[name].query

    def _terms(self) -> Mapping[str, BagTerm]:
        """The views above, which a view reads as their terms."""
        return {v.name: BagTerm(v.query.body, Bag(v.row), v.query.sorted) for v in self.views.values()}


def _check_key(name: str, row: Type) -> None:
    fields = row.fields if isinstance(row, Record) else ()
    found = dict(fields).get(name)
    if not isinstance(found, Base) or found.nullable:
        possible = [n for n, t in fields if isinstance(t, Base) and not t.nullable]
        raise TypeMismatch("a key is made of base fields that are never NULL", got=found or name, possible=possible)


def _check_names(t: Type) -> None:
    """Raises ParseError for a field that has the name of ours, which says that a record is there."""
    match t:
        case Bag(row):
            _check_names(row)
        case Record() if EXISTS in t.names and optional(t.there) != t:
            raise ParseError("a name that is ours", got=EXISTS, possible=["⟨name: …⟩?, a record that may be NULL"])
        case Record(fields):
            for _, inner in fields:
                _check_names(inner)


# ---------------------------------------------------------------- rows as annotations


def _annotation(t: Type, where: str) -> Any:
    match t:
        case Base():
            return Annotated[object, t]
        case Bag(row, null):
            generic: Any = markers.Bag
            bag = generic[_annotation(row, where)]
            return bag | None if null else bag
        case Record() if t.is_optional:
            return _class(t.there.fields, where) | None
        case Record(fields):
            return _class(fields, where)
        case _:
            raise Unsupported("not a type of nested data", where=where, got=t)


def _class(fields: Sequence[tuple[str, Type]], where: str) -> type:
    """A ``@record`` class with these fields, whose names must be words that begin no field of Python's own."""
    odd = [name for name, _ in fields if not is_field_name(name) or name.startswith("_")]
    if odd or not fields:
        what, got = "no class can have these fields", ", ".join(map(ascii, odd))
        raise Unsupported(what, where=where, got=got, possible=["words as names"])
    annotations = {name: _annotation(t, f"{where}.{name}") for name, t in fields}
    name = where.rpartition(".")[2].capitalize()
    return record(type(name if is_field_name(name) else "Row", (), {"__annotations__": annotations}))
