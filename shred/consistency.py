"""Consistency of shredded values and of updates (nrc-ivm, appendix C.3, definitions 1 and 2).

Each function yields what is wrong and where, so that an empty answer means consistent.
"""

from collections.abc import Iterator, Mapping

from ripplenest.nrc.bags import BagValue, LabelValue, Value

Shredded = Mapping[str, "BagValue | Mapping[LabelValue, BagValue]"]


def labels_of(value: Value) -> Iterator[LabelValue]:
    """The labels that a flat value holds."""
    if isinstance(value, LabelValue):
        yield value
    elif isinstance(value, tuple):
        for _, inner in value:
            yield from labels_of(inner)


def undefined(parts: Shredded) -> Iterator[str]:
    """Definition 1: every label in a flat bag or in a definition has a definition of its own."""
    for name, part in parts.items():
        bags = [part] if isinstance(part, BagValue) else list(part.values())
        for label in {x for bag in bags for row, _ in bag for x in labels_of(row)}:
            home = parts.get(label.site)
            if not isinstance(home, Mapping) or label not in home:
                yield f"{name}: the label {label} has no definition in {label.site}"


def inconsistent_update(parts: Shredded, delta: Shredded) -> Iterator[str]:
    """Definition 2: an updated label is updated in every dictionary that defines it; a fresh one is nowhere yet.

    A label is defined only by the dictionary of its site, so what is left to check is that sites are respected and
    that the labels which the updated flat parts hold are defined after the update.
    """
    for name, part in delta.items():
        if isinstance(part, Mapping):
            for label in part:
                if label.site != name:
                    yield f"{name}: an update of the label {label}, which belongs to {label.site}"
    yield from undefined(add(parts, delta))


def add(parts: Shredded, delta: Shredded) -> dict[str, "BagValue | dict[LabelValue, BagValue]"]:
    """⟨R^F ⊎ ΔR^F, R^Γ ⊎ ΔR^Γ⟩, part by part."""
    out: dict[str, BagValue | dict[LabelValue, BagValue]] = {}
    for name in {**parts, **delta}:
        old, change = parts.get(name), delta.get(name)
        if isinstance(old, BagValue) or isinstance(change, BagValue):
            a = old if isinstance(old, BagValue) else BagValue()
            b = change if isinstance(change, BagValue) else BagValue()
            out[name] = a + b
        else:
            out[name] = _add_dictionaries(old or {}, change or {})
    return out


def _add_dictionaries(
    a: Mapping[LabelValue, BagValue], b: Mapping[LabelValue, BagValue]
) -> dict[LabelValue, BagValue]:
    return {label: a.get(label, BagValue()) + b.get(label, BagValue()) for label in {**a, **b}}
