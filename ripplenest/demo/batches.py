"""The batches of the demo: each kind of change once, on real films, and at last several kinds in one.

They are computed one after the other from the films held back and from what the input has become.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from ripplenest.demo.operations import DeepDelete, DeepInsert, Delete, Films, Input, Insert, Operation, Remove, Upsert
from ripplenest.examples.films import Movie, by_distributor, movie

HELD_BACK = 200
ARRIVE_FIRST = 120
Film = Mapping[str, str | None]


@frozen
class Step:
    """One batch: its kind, what happens in it, and its operations."""

    kind: str
    what: str
    operations: tuple[Operation, ...]


@frozen
class Arrivals:
    """The films that are not loaded, in the two lots in which they arrive."""

    first: tuple[Film, ...]
    last: tuple[Film, ...]


Made = tuple[str, tuple[Operation, ...]]


def split(films: Sequence[Film]) -> tuple[Sequence[Film], Arrivals]:
    """The films to load, and the last 200."""
    held = tuple(films[-HELD_BACK:])
    return films[:-HELD_BACK], Arrivals(held[:ARRIVE_FIRST], held[ARRIVE_FIRST:])


def steps(copy: Input, arrivals: Arrivals) -> Iterator[Step]:
    """One step per kind; ``copy`` must have what happened before when the next one is asked for."""
    for kind, make in MAKERS.items():
        yield Step(kind, *make(copy, arrivals))


def _insert(_: Input, arrivals: Arrivals) -> Made:
    films = tuple(map(movie, arrivals.first))
    return f"{len(films)} films arrive in M", (Insert(films),)


def _delete(copy: Input, _: Arrivals) -> Made:
    westerns = _those(copy, lambda m: m.gen == "Western")
    return f"the {len(westerns)} westerns leave M", (Delete(westerns),)


def _correct(copy: Input, _: Arrivals) -> Made:
    old = _those(copy, lambda m: m.gen == "Black Comedy")
    return f"{len(old)} black comedies become comedies", _corrected(old, "Comedy")


def _corrected(films: Films, gen: str) -> tuple[Operation, ...]:
    """M has no key: a correction takes the old rows away and adds the right ones."""
    return Delete(films), Insert(tuple(Movie(name=m.name, gen=gen, dir=m.dir) for m in films))


def _one_of_two(copy: Input, _: Arrivals) -> Made:
    twice = next(m for m, n in copy.films.items() if n == 2 and m.name == "Hamlet")
    return "one of two equal rows of Hamlet leaves M, the other stays", (Delete((twice,)),)


def _upsert(copy: Input, arrivals: Arrivals) -> Made:
    new = tuple(Upsert(name, ()) for name in by_distributor(arrivals.last) if name not in copy.distributors)
    merged = Upsert("Focus Features", (*_bag(copy, "Focus Features"), *_bag(copy, "USA Films")))
    what = f"Focus Features gets USA Films' films, {len(new)} distributor is new"
    return what, (merged, *new)


def _deep_insert(_: Input, arrivals: Arrivals) -> Made:
    lists = by_distributor(arrivals.first)
    operations = tuple(DeepInsert(name, tuple(films)) for name, films in lists.items())
    return f"{len(arrivals.first)} films arrive in the bags of {len(lists)} distributors", operations


def _deep_delete(copy: Input, _: Arrivals) -> Made:
    musicals = {name: tuple(m for m in bag.elements() if m.gen == "Musical") for name, bag in copy.distributors.items()}
    operations = tuple(DeepDelete(name, films) for name, films in musicals.items() if films)
    count = sum(len(films) for films in musicals.values())
    return f"{count} musicals leave the bags of {len(operations)} distributors", operations


def _empty(copy: Input, _: Arrivals) -> Made:
    films = _bag(copy, "USA Films")
    what = f"the last {len(films)} films of USA Films leave; its bag is empty"
    return what, (DeepDelete("USA Films", films),)


def _several(copy: Input, arrivals: Arrivals) -> Made:
    films = tuple(map(movie, arrivals.last))
    concerts = _those(copy, lambda m: m.gen == "Concert/Performance")
    arriving, traffic = by_distributor(arrivals.last), _films(copy, "Focus Features", "Traffic")
    sold = (*_bag(copy, "Polygram"), *arriving.get("Polygram", ()))  # what its bag holds by then
    operations: tuple[Operation, ...] = (
        Insert(films),
        *_corrected(concerts, "Documentary"),
        *(DeepInsert(name, tuple(found)) for name, found in arriving.items()),
        Remove("Polygram", sold),
        DeepInsert("Universal", sold),
        DeepDelete("Focus Features", traffic),
        DeepInsert("USA Films", traffic),
    )
    return f"{len(films)} films arrive in M and D, Universal buys Polygram, genres are corrected", operations


def _those(copy: Input, wanted: Callable[[Movie], bool]) -> Films:
    return tuple(m for m in copy.films.elements() if wanted(m))


def _films(copy: Input, distributor: str, name: str) -> Films:
    return tuple(m for m in _bag(copy, distributor) if m.name == name)


def _bag(copy: Input, distributor: str) -> Films:
    return tuple(copy.distributors[distributor].elements())


MAKERS: dict[str, Callable[[Input, Arrivals], Made]] = {
    "insert": _insert,
    "delete": _delete,
    "correct": _correct,
    "duplicate": _one_of_two,
    "upsert": _upsert,
    "deep insert": _deep_insert,
    "deep delete": _deep_delete,
    "empty bag": _empty,
    "several": _several,
}
KINDS = tuple(MAKERS)
