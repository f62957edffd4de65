"""Arbitrary consistent shredded bags and updates (nrc-ivm, definitions 1 and 2), not only those that shredding makes.

Several rows and dictionaries hold one label, several labels have equal bags, some definitions are held by nobody, and
rows with labels occur more than once. Dictionaries are made inner ones first, so that every label has its definition.
"""

from collections.abc import Mapping
from itertools import count

from ripplenest.nrc.bags import BagValue, LabelValue, Value
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.shred.contexts import stored_parts
from ripplenest.shred.values import Parts
from support.choices import Choices
from support.schemas import Schema, base_value
from support.updates import Batch, numbered

Labels = dict[str, list[LabelValue]]
MOST = 3  # labels of a dictionary, rows of a definition


def consistent_bags(c: Choices, schema: Schema) -> Parts:
    """⟨R^F, R^Γ⟩ of every relation."""
    labels: Labels = {}
    parts: Parts = {}
    for name, row in schema.relations:
        (_, flat), *inner = stored_parts(name, row).items()
        for path, stored in reversed(inner):
            parts[path] = _definitions(c, path, stored, labels, f"{path}-")
        parts[name] = _bag(c, flat, labels, 4)
    return {part: parts[part] for part in sorted(parts)}


def consistent_update(c: Choices, schema: Schema, parts: Parts) -> Batch:
    """⟨ΔR^F, ΔR^Γ⟩: changes of definitions, fresh definitions, and rows that hold old and fresh labels."""
    labels: Labels = {name: list(part) for name, part in parts.items() if isinstance(part, Mapping)}
    delta: Parts = {}
    for name, row in schema.relations:
        (_, flat), *inner = stored_parts(name, row).items()
        for path, stored in reversed(inner):
            old = [label for label in labels[path] if c.number(3) == 0]
            changes = {label: _change(c, stored, labels) for label in old}
            changes |= _definitions(c, path, stored, labels, f"Δ{path}-", least=0)
            if changes:
                delta[path] = changes
        if c.number(3):
            delta[name] = _change(c, flat, labels)
    return Batch(delta, frozenset({"deep"} if any("." in part for part in delta) else ()))


def _definitions(
    c: Choices, path: str, row: Type, labels: Labels, tag: str, least: int = 1
) -> dict[LabelValue, BagValue]:
    """Labels of the site ``path`` with their bags; now and then a label has the bag of the one before it."""
    found: dict[LabelValue, BagValue] = {}
    bag, numbers = BagValue(), count(numbered(tag).next)
    for i in range(least + c.number(MOST)):
        bag = bag if i and c.one_in(3) else _bag(c, row, labels, MOST)
        found[LabelValue(path, (next(numbers),))] = bag
    labels[path] = [*labels.get(path, ()), *found]
    return found


def _bag(c: Choices, row: Type, labels: Labels, most: int) -> BagValue:
    """1 to ``most`` rows, seldom none."""
    rows = 0 if c.one_in(8) else 1 + c.number(most)
    return BagValue.weighted((_value(c, row, labels), 1 + c.number(2)) for _ in range(rows))


def _change(c: Choices, row: Type, labels: Labels) -> BagValue:
    """Rows with multiplicities of either sign: linear laws do not ask whether a row is there."""
    return BagValue.weighted((_value(c, row, labels), c.pick((1, 2, -1))) for _ in range(1 + c.number(2)))


def _value(c: Choices, t: Type, labels: Labels) -> Value:
    match t:
        case Base():
            return base_value(c, t)
        case Record(fields):
            return tuple((name, _value(c, f, labels)) for name, f in fields)
        case Label((site,), nullable):
            known = labels.get(site.name, [])
            return None if not known or (nullable and c.one_in(5)) else c.pick(known)
        case Bag() | Label() | Dict():
            raise AssertionError(f"not a type of stored rows: {t}")


def shared(parts: Parts) -> bool:
    """Whether some label is held more than once, and some definition by nobody."""
    held: dict[LabelValue, int] = {}
    for part in parts.values():
        for bag in [part] if isinstance(part, BagValue) else part.values():
            for row, n in bag:
                _count(row, n, held)
    every = {label for part in parts.values() if isinstance(part, Mapping) for label in part}
    return any(n > 1 for n in held.values()) and bool(every - held.keys())


def _count(value: Value, n: int, held: dict[LabelValue, int]) -> None:
    if isinstance(value, LabelValue):
        held[value] = held.get(value, 0) + n
    elif isinstance(value, tuple):
        for _, inner in value:
            _count(inner, n, held)
