"""``@record``: an annotated class as a frozen attrs class that knows its Record type; and the types of annotations.

    bool  int (long)  Int (32 bits)  float (double)  str  bytes  date  datetime (timestamp)  Decimal[p, s]
    X | None (a base value or a bag that may be NULL)    Bag[X], list[X]    another record

Annotations may be strings. Names that are not defined yet are looked up again at first use.
"""

import datetime
import decimal
import inspect
import re
import sys
import types
import typing
from contextlib import suppress
from copy import copy
from dataclasses import Field, is_dataclass
from functools import partial
from keyword import iskeyword
from typing import Annotated, Any, Never, TypeVar, dataclass_transform
from unicodedata import normalize

import attrs

from ripplenest.nrc import types as nrc
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.border import Border
from ripplenest.nrc.errors import RipplenestError, TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.surface.markers import Bag, Decimal
from ripplenest.nrc.surface.surroundings import Namespace, Surroundings

C = TypeVar("C")
Fields: typing.TypeAlias = "list[attrs.Attribute[Any]]"

PLAIN: dict[object, nrc.Base] = {
    bool: nrc.BOOL,
    int: nrc.LONG,
    float: nrc.DOUBLE,
    str: nrc.STRING,
    bytes: nrc.Base("binary"),
    datetime.date: nrc.Base("date"),
    datetime.datetime: nrc.Base("timestamp"),
}
DIGITS = "rn.Decimal[10, 2], which says how many digits, and how many of them behind the point"
POSSIBLE = (
    *("bool", "int", "Int", "float", "str", "bytes", "date", "datetime", "rn.Decimal[10, 2]"),
    *("X | None", "Bag[X]", "list[X]", "another @record class"),
)
HINTS: dict[object, str] = {
    decimal.Decimal: DIGITS,
    Decimal: DIGITS,
    tuple: "a @record class",
    dict: "a @record class",
    set: "Bag[...]",
}
BAGS = (Bag, list)
_NO_CLASS: Any = None  # of ``@record()``, which type checkers need no type of
_DECLARED = "__ripplenest_record__"


class NotDefinedYet(UnknownName):
    """A Python name without a value: at the end of the module it may have one."""


@attrs.define
class _Declared:
    """What ``@record`` keeps: the names around the class, and the type once it is known."""

    around: Surroundings
    type: nrc.Record | None = None


@dataclass_transform(frozen_default=True)
def record(cls: type[C] = _NO_CLASS, **options: Never) -> type[C]:
    """``cls`` as a frozen attrs class, one field per annotation. ``record_type`` gives its type.

    Raises Unsupported or TypeMismatch with class and field for an annotation that is not a type of the calculus.
    """
    with Border():
        if cls is _NO_CLASS or options:
            got, possible = f"@rn.record({', '.join(f'{name}=...' for name in options)})", ["`@rn.record` alone"]
            raise Unsupported("a record is made of the class alone", got=got, possible=possible)
        if not isinstance(cls, type) or cls.__module__ == "builtins":
            what = "not a class"
            raise Unsupported(what, where="record", wanted="a class with annotated fields", got=type(cls).__name__)
        _check_names(cls)
        if "__dataclass_fields__" in vars(cls) or ("__attrs_attrs__" in vars(cls) and not is_record(cls)):
            what, possible = "another decorator has made this class", ["@record alone, which makes an attrs class"]
            raise Unsupported(what, where=cls.__qualname__, possible=possible)
        if (made_by := _made_by(cls)) is not None:
            what = "another class has made this one, and a record is made of fields alone"
            raise Unsupported(what, where=cls.__qualname__, got=made_by, possible=[_as_record(cls)])
        _own_defaults(cls)
        made = attrs.frozen(cls, field_transformer=_in_order)
        if not attrs.fields(typing.cast(Any, made)):
            raise Unsupported("a record needs annotated fields", where=cls.__qualname__, possible=["name: str"])
        setattr(made, _DECLARED, _Declared(Surroundings(2)))
        with suppress(NotDefinedYet):  # a forward reference: looked up again at first use
            record_type(made)
    return made


def _check_names(cls: type) -> None:
    """attrs makes code of names, which for a class that a program makes may be anybody's text."""
    if not is_field_name(cls.__name__):
        raise Unsupported("no class of rows can have this name", got=cls.__name__, possible=["a word as name"])
    for name in (name for c in cls.__mro__ for name in inspect.get_annotations(c)):
        if not is_field_name(name):
            word = _word(name)
            possible = [f"words as names: {word}, and rows of it, `{{{word!r}: row[{name!r}]}}`"]
            raise Unsupported("no class can have this field", where=cls.__qualname__, got=name, possible=possible)


def _own_defaults(cls: type) -> None:
    """Each row has a list, dict or set of its own where that is the default."""
    for name in inspect.get_annotations(cls):
        if isinstance(value := vars(cls).get(name), Field):
            possible = ["`= []`, which each row has of its own", "attrs.field(factory=...)"]
            raise Unsupported("a default of a dataclass", where=f"{cls.__qualname__}.{name}", possible=possible)
        if isinstance(value, list | dict | set):
            setattr(cls, name, attrs.Factory(partial(copy, value)))


def _in_order(cls: type, fields: Fields) -> Fields:
    """The fields, called as they are where rows are made. Raises Unsupported for one without a value behind others."""
    late = [f.name for i, f in enumerate(fields) if f.default is attrs.NOTHING and _has_default(fields[:i])]
    if late:
        what, possible = "a field without a value behind one with", [f"`{late[0]}: ...` before those with a value"]
        raise Unsupported(what, where=cls.__qualname__, got=late[0], possible=possible)
    return [f.evolve(alias=f.name) for f in fields]


def _has_default(fields: Fields) -> bool:
    return any(f.default is not attrs.NOTHING for f in fields)


def _word(name: str) -> str:
    """A name that a field can have, like ``name``."""
    word = re.sub(r"\W+", "_", normalize("NFKC", name)).strip("_").lower()
    return next((w for w in (word, f"{word}_") if word and is_field_name(w)), f"field_{word}")


def is_field_name(name: str) -> bool:
    """True when an attrs class can have a field called ``name``: its code says that and nothing else. Python reads
    names in NFKC, so that one which is written in another form would be two."""
    return name.isidentifier() and not iskeyword(name) and name != "self" and normalize("NFKC", name) == name


def record_type(cls: type) -> nrc.Record:
    """The Record type of a ``@record`` class. Raises Unsupported when it is none, or when it contains itself."""
    return _record_type(cls, ())


def is_record(cls: object) -> bool:
    return isinstance(cls, type) and _DECLARED in cls.__dict__


def _record_type(cls: type, above: tuple[type, ...]) -> nrc.Record:
    declared = cls.__dict__.get(_DECLARED)
    if not isinstance(declared, _Declared):
        raise Unsupported("not a record", got=cls.__qualname__, possible=["a class decorated with @record"])
    if cls in above:
        raise Unsupported("a record that contains itself has no finite type", got=cls.__qualname__)
    if declared.type is None:
        around, names = declared.around.names(), [a.name for a in attrs.fields(typing.cast(Any, cls))]
        declared.type = nrc.Record(tuple((name, _field_type(cls, name, around, above)) for name in names))
        declared.around.keep(())
    return declared.type


def _field_type(cls: type, name: str, names: Namespace, above: tuple[type, ...]) -> nrc.Type:
    where = f"{cls.__qualname__}.{name}"
    owner = next(c for c in cls.__mro__ if name in inspect.get_annotations(c))
    if owner is not cls and is_record(owner):
        inherited = _record_type(owner, above).get(name)
        assert inherited is not None
        return inherited
    module = getattr(sys.modules.get(owner.__module__), "__dict__", {})
    hint = resolve(inspect.get_annotations(owner)[name], {**module, **names}, where)
    return annotation_type(hint, where, (*above, cls))


def annotation_type(hint: Any, where: str, above: tuple[type, ...] = ()) -> nrc.Type:
    """The type that a resolved annotation stands for; ``where`` (class and field) is put before each error."""
    if typing.get_origin(hint) is Annotated:
        found = next((m for m in hint.__metadata__ if isinstance(m, nrc.Base)), None)
        return found or annotation_type(hint.__origin__, where, above)
    if isinstance(hint, type) and hint in PLAIN:
        return PLAIN[hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _optional(hint, where, above)
    if typing.get_origin(hint) in BAGS and typing.get_args(hint):
        return nrc.Bag(annotation_type(typing.get_args(hint)[0], where, above))
    if is_record(hint):
        return _at(where, hint, above)
    raise _no_type(hint, where)


def _made_by(cls: type) -> str | None:
    """What has made the fields of a class, which attrs cannot make then; None of one that it can."""
    if typing.is_typeddict(cls):
        return "a TypedDict"
    if hasattr(cls, "__pydantic_fields__"):
        return "a model of pydantic"
    return "a NamedTuple" if issubclass(cls, tuple) else None


def _at(where: str, cls: type, above: tuple[type, ...]) -> nrc.Record:
    try:
        return _record_type(cls, above)
    except RipplenestError as error:
        error.where = error.where or where
        raise


def _optional(hint: Any, where: str, above: tuple[type, ...]) -> nrc.Type:
    members = [m for m in typing.get_args(hint) if m is not type(None)]
    if len(members) != 1:
        raise Unsupported("a field has one type", where=where, got=hint, possible=["X | None"])
    return nrc.optional(annotation_type(members[0], where, above))


def _no_type(hint: Any, where: str) -> RipplenestError:
    if hint in (*BAGS, typing.List):  # noqa: UP006 - the old name of list
        possible = ["Bag[Movie]", "list[Movie]", "Bag[str]"]
        return TypeMismatch("a bag needs the type of its rows", where=where, got=_shown(hint), possible=possible)
    known = typing.get_origin(hint) or hint
    better = next((nearest for wrong, nearest in HINTS.items() if wrong is known), None)  # what came may have no hash
    if isinstance(hint, type) and inspect.get_annotations(hint):
        better = _as_record(hint)
    nearest = POSSIBLE if better is None else (better,)
    return Unsupported("not a type that a view knows", where=where, got=_shown(hint), possible=nearest)


def _as_record(cls: type) -> str:
    """What to write in the place of a class with fields that is no record."""
    if _made_by(cls) is not None:
        return f"a class of its own with these fields, and @record above it; rows may be {cls.__name__}s"
    other = "@dataclass" if is_dataclass(cls) else "the decorator of attrs" if attrs.has(cls) else ""
    return f"@record above class {cls.__qualname__}{other and f', instead of {other}'}"


def _shown(hint: Any) -> str:
    if isinstance(hint, int):
        return kind(hint)
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def resolve(annotation: object, names: Namespace, where: str) -> Any:
    """An annotation with its strings looked up in ``names``. Raises NotDefinedYet for a name without a value."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, globalns={}, localns=dict(names), include_extras=True)["it"]
    except NameError as error:
        raise NotDefinedYet("the annotation uses a name that is not defined", where=where, got=error.name) from error
    except (SyntaxError, TypeError, AttributeError) as error:
        raise Unsupported("not a type that a view knows", where=where, got=annotation, possible=POSSIBLE) from error


def annotation_text(t: nrc.Type) -> str:
    """A type as a program writes it. Law: of a type without records, annotation_type(annotation_text(t)) = t."""
    null = " | None" if nrc.may_be_null(t) else ""
    match t:
        case nrc.Base("decimal"):
            return f"rn.Decimal[{t.precision}, {t.scale}]{null}"  # Decimal alone is Python's own
        case nrc.Base("int"):
            return f"Int{null}"
        case nrc.Base():
            (hint,) = (h for h, base in PLAIN.items() if base.kind == t.kind)
            return f"{getattr(hint, '__name__', hint)}{null}"
        case nrc.Bag(row):
            return f"Bag[{annotation_text(row)}]{null}"
    return "a @record class"
