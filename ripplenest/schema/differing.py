"""How rows or keys that are declared differ from others: the fields that do, and what makes one of the other."""

from collections.abc import Iterator, Sequence

from attrs import frozen

from ripplenest.errors import RelationChanged
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.records import annotation_text
from ripplenest.nrc.types import Bag, Base, Record, Type, may_be_null
from ripplenest.schema.altered import holds
from ripplenest.schema.relation import Relation
from ripplenest.shred.places import child_path


@frozen
class Differing:
    """A field as it is declared and as it comes, and the call on a relation that makes one of the other, if any;
    ``known``: how a class says what is declared, ``kept`` how ``db.relation`` does."""

    declared: str
    came: str
    way: str = ""
    known: str = ""
    kept: str = ""


def same(a: Type, b: Type) -> bool:
    """Whether both are declared alike: also in what may be NULL of a record that may be."""
    return a == b and str(a) == str(b)


def differing(declared: Type, came: Type, path: str = "") -> Iterator[Differing]:
    """What differs, at every depth. Law: nothing does if and only if they are the ``same``."""
    match declared, came:
        case Record(), Record() if declared.is_optional == came.is_optional:
            yield from _fields(dict(declared.there.fields), dict(came.there.fields), path)
        case Bag(old_row, old_null), Bag(new_row, new_null) if old_null == new_null and not same(old_row, new_row):
            yield from differing(old_row, new_row, path)
        case _ if not same(declared, came):
            is_field = path and holds(declared, came)
            way = f'widen("{path}", {annotation_text(came)})' if is_field else ""
            yield Differing(_said(path, declared), _said(path, came), way, _annotated(path, declared))


def _fields(old: dict[str, Type], new: dict[str, Type], path: str) -> Iterator[Differing]:
    names = dict(_renamed(old, new))
    for a, b in names.items():
        way = f'rename("{_path(path, a)}", "{b}")'
        known = _annotated(_path(path, a), old[a])
        yield Differing(_said(_path(path, a), old[a]), _said(_path(path, b), new[b]), way, known)
    gone = [name for name in old if name not in new and name not in names]
    more = [name for name in new if name not in old and name not in names.values()]
    for n in gone:
        at = _path(path, n)
        yield Differing(_said(at, old[n]), f"no {at}", known=_annotated(at, old[n]))
    yield from (Differing(f"no {_path(path, n)}", _said(_path(path, n), new[n]), _add(path, n, new[n])) for n in more)
    kept = [names.get(name, name) for name in old if name not in gone]
    if list(new)[: len(kept)] != kept:
        where = f"the fields of {path}" if path else "fields"
        order = f"{where} in the order {', '.join([*kept, *more])}"
        yield Differing(order, f"in the order {', '.join(new)}", known=order)
    for name, t in old.items():
        if name in new:
            yield from differing(t, new[name], _path(path, name))


def _renamed(old: dict[str, Type], new: dict[str, Type]) -> Iterator[tuple[str, str]]:
    """Base fields that may have another name: in the place of each there is one that it had not, of its type."""
    for a, b in zip(old, new, strict=False):
        if a not in new and b not in old and old[a] == new[b] and isinstance(old[a], Base):
            yield a, b


def _add(path: str, name: str, t: Type) -> str:
    if isinstance(t, Record) or not (isinstance(t, Base) or may_be_null(t)):
        return ""
    default = "" if may_be_null(t) else ", default=..."
    return f'add("{_path(path, name)}", {annotation_text(t)}{default})'


def _path(path: str, name: str) -> str:
    return child_path(path, name) if path else name


def _said(path: str, t: Type) -> str:
    return f"{path}: {t}" if path else str(t)


def _annotated(path: str, t: Type) -> str:
    return f"{path}: {annotation_text(t)}" if path else ""


def is_declared(known: Relation | None, wanted: Relation) -> bool:
    """Whether ``known`` is the relation as it is ``wanted``."""
    return known is not None and known == wanted and same(known.row, wanted.row)


def relation_changed(known: Relation, wanted: Relation) -> RelationChanged:
    """What is wrong with a relation that the state holds otherwise: only what differs is told."""
    found = [*differing(known.row, wanted.row), *_kept(known, wanted)]
    ways = [f'db.relation("{known.name}").{d.way}' for d in found if d.way]
    fields = [d.known for d in found if d.known]
    as_it_is = [f"a class that has what the state does: {', '.join(fields)}"] if fields else []
    return RelationChanged(
        f"the state holds {known.name} differently",
        where=f"relation {known.name}",
        wanted=", ".join(d.declared for d in found),
        got=", ".join(d.came for d in found),
        possible=[*as_it_is, *(d.kept for d in found if d.kept), *ways, "another name", "a new state directory"],
    )


def other_rows(view: str, relation: str, declared: Type, read: Type) -> TypeMismatch:
    """What is wrong with a view that reads rows as they are not."""
    found = list(differing(declared, read))
    return TypeMismatch(
        f"the view reads {relation} with other fields than it was declared with",
        where=f"view {view}",
        wanted=", ".join(d.declared for d in found),
        got=", ".join(d.came for d in found),
        possible=["the record that was declared", *(f'db.relation("{relation}").{d.way}' for d in found if d.way)],
    )


def _kept(known: Relation, wanted: Relation) -> Iterator[Differing]:
    """Keys and immutable bags that differ."""
    old, new = dict(known.keys), dict(wanted.keys)
    inner = ((f"key of {part}", old.get(part, ()), new.get(part, ())) for part in {**old, **new})
    others = (("immutable", known.immutable, wanted.immutable), ("arrays", known.arrays, wanted.arrays))
    for what, a, b in (("key", known.key, wanted.key), *inner, *others):
        if a != b:
            declared, came = (f"{what} {', '.join(names)}" if names else f"no {what}" for names in (a, b))
            yield Differing(declared, came, kept=f"key={_names(a)}" if what == "key" and a else "")


def _names(key: Sequence[str]) -> str:
    """A key as it is declared."""
    return f'"{key[0]}"' if len(key) == 1 else f"({', '.join(map(repr, key))})"
