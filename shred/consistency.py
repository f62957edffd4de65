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
            if isinstance(inner, LabelValue | tuple):  # most are neither
                yield from labels_of(inner)


def undefined(parts: Shredded, beside: Shredded | None = None) -> Iterator[str]:
    """Definition 1: every label in a flat bag or in a definition has a definition of its own, here or ``beside``."""
    homes = (parts, beside or {})
    for name, part in parts.items():
        bags = [part] if isinstance(part, BagValue) else list(part.values())
        for label in {x for bag in bags for row, _ in bag for x in labels_of(row)}:
            if not any(_defines(home.get(label.site), label) for home in homes):
                yield f"{name}: the label {label} has no definition in {label.site}"


def _defines(part: "BagValue | Mapping[LabelValue, BagValue] | None", label: LabelValue) -> bool:
    return isinstance(part, Mapping) and label in part


def misplaced(parts: Shredded) -> Iterator[str]:
    """Definition 1: a label is defined by the dictionary of its site alone, so that no two dictionaries disagree."""
    for name, part in parts.items():
        if isinstance(part, Mapping):
            yield from (
                f"{name}: a definition of the label {label}, which belongs to {label.site}"
                for label in part
                if label.site != name
            )


def inconsistent(parts: Shredded) -> Iterator[str]:
    """Definition 1: what makes the shredded bags ⟨R^F, R^Γ⟩ inconsistent."""
    yield from misplaced(parts)
    yield from undefined(parts)


def inconsistent_update(parts: Shredded, delta: Shredded) -> Iterator[str]:
    """Definition 2: what makes the update ⟨ΔR^F, ΔR^Γ⟩ of ⟨R^F, R^Γ⟩ inconsistent.

    Both are consistent on their own. A label of R^Γ that the update holds and does not define has the update ∅ there,
    which changes nothing; so it is the fresh labels that must be defined in ΔR^Γ. An updated label is updated in every
    dictionary that defines it, and a fresh one is in none before: both follow once each label is defined by the
    dictionary of its site alone.

    Law: then ⟨R^F ⊎ ΔR^F, R^Γ ⊎ ΔR^Γ⟩ is consistent.
    """
    yield from (f"before: {fault}" for fault in inconsistent(parts))
    yield from (f"update: {fault}" for fault in misplaced(delta))
    yield from (f"update: {fault}" for fault in undefined(delta, beside=parts))


def add(parts: Shredded, delta: Shredded) -> dict[str, "BagValue | dict[LabelValue, BagValue]"]:
    """⟨R^F ⊎ ΔR^F, R^Γ ⊎ ΔR^Γ⟩, part by part."""
    out: dict[str, BagValue | dict[LabelValue, BagValue]] = {
        name: part if isinstance(part, BagValue) else dict(part) for name, part in parts.items()
    }
    for name, change in delta.items():
        old = out.get(name)
        if isinstance(old, BagValue) or isinstance(change, BagValue):
            a = old if isinstance(old, BagValue) else BagValue()
            b = change if isinstance(change, BagValue) else BagValue()
            out[name] = a + b
        else:
            out[name] = _add_dictionaries(old or {}, change)
    return out


def _add_dictionaries(
    a: Mapping[LabelValue, BagValue], b: Mapping[LabelValue, BagValue]
) -> dict[LabelValue, BagValue]:
    """Only what changes is added: the definitions that ``b`` does not name are those of ``a``."""
    return {**a, **{label: a[label] + bag if label in a else bag for label, bag in b.items()}}
