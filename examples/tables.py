"""What a view is stored as, read with Spark: nested rows, the flat part, the dictionaries, and what a batch changed.

    python examples/tables.py

The view is `related` of films.py. Labels stand for inner bags; a dictionary has the rows of each.
"""

import tempfile

from pyspark.sql import functions as F

import ripplenest as rn
from ripplenest.examples.films import JARHEAD, THREE, Movie, related


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state) as db:
        db.relation("M", Movie)
        db.load("M", THREE)
        view = db.create(related)
        before = db.version
        with db.batch() as b:
            b.insert("M", [JARHEAD])

        print("nested(); bags have no order, so that they are sorted to be printed")
        view.nested().select("name", F.sort_array("related").alias("related")).orderBy("name").show(truncate=False)
        print("flat()")
        view.flat().orderBy("name").show(truncate=False)
        for site, dictionary in view.dictionaries().items():
            print(f"dictionaries()[{site!r}]")
            dictionary.orderBy("label", "value").show(truncate=False)

        changes = view.changes(since=before)
        print("changes(since=the version before Jarhead).flat")
        changes.flat.orderBy("name").show(truncate=False)
        for site, dictionary in changes.dictionaries.items():
            print(f"changes(...).dictionaries[{site!r}]")
            dictionary.orderBy("label", "value").show(truncate=False)


if __name__ == "__main__":
    main()
