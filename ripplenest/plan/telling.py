"""Which columns tell a stored row apart for users: those of its key, and of the keys of the rows that its bag is of.
The numbers of rows that have no key are nobody's names.
"""

from collections.abc import Iterator, Sequence

from ripplenest.data.columns import Column, columns
from ripplenest.delta.program import TriggerProgram
from ripplenest.shred.contexts import stored_dictionaries, stored_rows
from ripplenest.shred.places import Place


def telling(program: TriggerProgram) -> dict[str, dict[int, str]]:
    """By part, by column, what it is called."""
    relations, keys = program.relations, dict(program.keys)
    bags = (d for name, row in relations for d in stored_dictionaries(row, Place.of(name, row, program.keys, ())))
    labels = {d.name: tuple(f"label.{name}" for name, _ in d.params) for d in bags}
    unique = {name: own for name, own in program.unique if name in dict(relations)}
    return {
        part: dict(_told(columns(row), (*labels.get(part, ()), *keys.get(part, ()), *unique.get(part, ()))))
        for part, row in stored_rows(relations, program.keys).items()
    }


def _told(every: Sequence[Column], names: Sequence[str]) -> Iterator[tuple[int, str]]:
    for i, c in enumerate(every):
        if (name := c.path.removeprefix("row.")) in names:
            yield i, name.removeprefix("label.")
