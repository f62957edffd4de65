"""What a batch of the demo consists of, and its two meanings: on the database, and on a copy of the input.

The copy (``Input``) is what the views are recomputed from. It knows nothing of the database: each operation has its
meaning here a second time, on plain Python collections.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, assert_never

from attrs import field, frozen

from ripplenest.examples.films import Movie

if TYPE_CHECKING:
    from ripplenest.api.batch import Batch

Films = tuple[Movie, ...]


@frozen
class Insert:
    """Films come into M."""

    films: Films


@frozen
class Delete:
    """Films go out of M, each once."""

    films: Films


@frozen
class Upsert:
    """A distributor is in D with these films and no others, whether it was there or not."""

    distributor: str
    films: Films


@frozen
class Remove:
    """A distributor goes out of D; its films are those given."""

    distributor: str
    films: Films


@frozen
class DeepInsert:
    """Films come into the bag of one distributor."""

    distributor: str
    films: Films


@frozen
class DeepDelete:
    """Films go out of the bag of one distributor."""

    distributor: str
    films: Films


Operation = Insert | Delete | Upsert | Remove | DeepInsert | DeepDelete


@frozen
class Input:
    """The accumulated input: films with multiplicities, and distributors with theirs."""

    films: Counter[Movie] = field(factory=Counter)
    distributors: dict[str, Counter[Movie]] = field(factory=dict)


def record(b: "Batch", operation: Operation) -> None:
    """The operation as a user of the database writes it."""
    match operation:
        case Insert(films):
            b.insert("M", films)
        case Delete(films):
            b.delete("M", films)
        case Upsert(name, films):
            b.upsert("D", [{"name": name, "films": films}])
        case Remove(name, films):
            b.delete("D", [{"name": name, "films": films}])
        case DeepInsert(name, films):
            _bag(b, name).insert(films)
        case DeepDelete(name, films):
            _bag(b, name).delete(films)
        case _:
            assert_never(operation)


def _bag(b: "Batch", distributor: str) -> Any:
    return b.at("D", name=distributor).films


def accumulate(copy: Input, operation: Operation) -> None:
    """The operation on the copy. Raises ValueError for films or distributors that are not there."""
    match operation:
        case Insert(films):
            copy.films.update(films)
        case Delete(films):
            _take(copy.films, films)
        case Upsert(name, films):
            copy.distributors[name] = Counter(films)
        case Remove(name, films):
            if copy.distributors.pop(name, None) != Counter(films):
                raise ValueError(f"no distributor {name} with these films")
        case DeepInsert(name, films):
            _of(copy.distributors, name).update(films)
        case DeepDelete(name, films):
            _take(_of(copy.distributors, name), films)
        case _:
            assert_never(operation)


def _of(distributors: Mapping[str, Counter[Movie]], name: str) -> Counter[Movie]:
    if name not in distributors:
        raise ValueError(f"no distributor {name}")
    return distributors[name]


def _take(bag: Counter[Movie], films: Iterable[Movie]) -> None:
    for film in films:
        if not bag[film]:
            raise ValueError(f"{film.name} is not there")
        bag[film] -= 1
        if not bag[film]:
            del bag[film]


def reads(operations: Iterable[Operation]) -> set[str]:
    """The relations that the operations change."""
    return {"M" if isinstance(o, Insert | Delete) else "D" for o in operations}
