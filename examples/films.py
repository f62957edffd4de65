"""Films: two nested views, one over a flat input and one over a nested input. `ripplenest demo` keeps both fresh.

    python examples/films.py

prints `related` for three films, then adds Jarhead and prints what the view is now and what the batch changed.
"""

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import ripplenest as rn
from ripplenest import Bag

MOVIES = Path(__file__).resolve().parent / "data" / "movies.json"
NO_DISTRIBUTOR = "(none)"


@rn.record
class Movie:
    name: str | None
    gen: str | None
    dir: str | None


@rn.record
class Distributor:
    name: str
    films: Bag[Movie]


@rn.view
def related(M: Bag[Movie]):
    """Every film, with the films of the same genre or by the same director."""
    return [
        {
            "name": m.name,
            "related": [
                m2.name
                for m2 in M
                if m2.name != m.name and (m2.gen == m.gen or m2.dir == m.dir)
            ],
        }
        for m in M
    ]


@rn.view
def elsewhere(D: Bag[Distributor]):
    """Every distributor with its films, and beside each film what its director made for other distributors."""
    return [
        {
            "name": d.name,
            "films": [
                {
                    "film": f.name,
                    "elsewhere": [
                        {"film": g.name, "distributor": e.name}
                        for e in D
                        for g in e.films
                        if g.dir == f.dir and e.name != d.name
                    ],
                }
                for f in d.films
            ],
        }
        for d in D
    ]


def read_films() -> list[dict[str, str | None]]:
    """The films of data/movies.json: Title, Major Genre, Director, Distributor; each may be None."""
    films: list[dict[str, str | None]] = json.loads(MOVIES.read_text(encoding="utf-8"))
    return films


def movie(film: Mapping[str, str | None]) -> Movie:
    return Movie(name=film["Title"], gen=film["Major Genre"], dir=film["Director"])


def by_distributor(films: Iterable[Mapping[str, str | None]]) -> dict[str, list[Movie]]:
    """Each distributor with its films; those without a distributor are under "(none)"."""
    found: dict[str, list[Movie]] = {}
    for film in films:
        found.setdefault(film["Distributor"] or NO_DISTRIBUTOR, []).append(movie(film))
    return found


THREE = [
    Movie(name="Drive", gen="Drama", dir="Refn"),
    Movie(name="Skyfall", gen="Action", dir="Mendes"),
    Movie(name="Rush", gen="Action", dir="Howard"),
]
JARHEAD = Movie(name="Jarhead", gen="Drama", dir="Mendes")


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        db.relation("M", Movie)
        db.load("M", THREE)
        view = db.create(related)
        print("Three films:")
        show(view.rows())
        with db.batch(source="imdb", seq=1) as b:
            b.insert("M", [JARHEAD])
        print("\nWith Jarhead:")
        show(view.rows())
        print("\nRows that changed:")
        for table, rows in b.report.rows_out.items():
            print(f"  {rows} {table}")


def show(rows: Iterable[Any]) -> None:
    for row in rows:
        print(f"  {row['name']:8} {row['related']}")


if __name__ == "__main__":
    main()
