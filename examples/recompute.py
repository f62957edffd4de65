"""The views of films.py from scratch, as a Spark user would write them without Ripplenest.

NULLs: `=` is not true for them, so that films without a genre or director are related by neither. `collect_list` makes
the bags; a film without any relation is found again by an outer join, and gets an empty one.
"""

from collections.abc import Iterable
from functools import reduce
from operator import add, and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from ripplenest.examples.films import Movie
from ripplenest.examples.same import differing

FILM = ["name", "gen", "dir"]
MOVIE = pa.struct([(column, pa.string()) for column in FILM])
DISTRIBUTOR = pa.schema([("name", pa.string()), ("films", pa.list_(MOVIE))])


def movies(spark: SparkSession, films: Iterable[Movie]) -> DataFrame:
    """(name, gen, dir), one row per film."""
    return spark.createDataFrame(pa.Table.from_pylist([*map(_film, films)], pa.schema(MOVIE)))


def distributors(spark: SparkSession, lists: Iterable[tuple[str, Iterable[Movie]]]) -> DataFrame:
    """(name, films(name, gen, dir)), one row per distributor."""
    rows = [{"name": name, "films": [*map(_film, films)]} for name, films in lists]
    return spark.createDataFrame(pa.Table.from_pylist(rows, DISTRIBUTOR))


def _film(m: Movie) -> dict[str, str | None]:
    return {"name": m.name, "gen": m.gen, "dir": m.dir}


def related(movies: DataFrame) -> DataFrame:
    """(name, related) from (name, gen, dir): two equi-joins that do not overlap, instead of one on a disjunction."""
    left, right = movies.distinct().alias("m"), movies.alias("m2")
    same_genre = F.col("m.gen") == F.col("m2.gen")
    same_director = F.col("m.dir") == F.col("m2.dir")
    another = F.col("m.name") != F.col("m2.name")
    by_genre = left.join(right, same_genre & another)
    by_director = left.join(right, same_director & another & ~F.coalesce(same_genre, F.lit(False)))
    pairs = by_genre.union(by_director).select("m.*", F.col("m2.name").alias("other"))
    found = pairs.groupBy(*FILM).agg(F.collect_list("other").alias("related"))
    same_film = reduce(and_, (F.col(f"m.{column}").eqNullSafe(F.col(f"found.{column}")) for column in FILM))
    return movies.alias("m").join(found.alias("found"), same_film, "left").select("m.name", _or_empty("related"))


def elsewhere(distributors: DataFrame) -> DataFrame:
    """(name, films(film, elsewhere(film, distributor))) from (name, films(name, gen, dir))."""
    films = distributors.select("name", F.posexplode("films").alias("position", "film"))
    films = films.select("name", "position", F.col("film.name").alias("film"), F.col("film.dir").alias("dir"))
    mine, others = films.alias("f"), films.alias("g")
    elsewhere = (F.col("f.dir") == F.col("g.dir")) & (F.col("f.name") != F.col("g.name"))
    other = F.struct(F.col("g.film").alias("film"), F.col("g.name").alias("distributor"))
    found = (
        mine.join(others, elsewhere)
        .groupBy("f.name", "f.position")
        .agg(F.collect_list(other).alias("elsewhere"))
    )
    film = F.struct("film", _or_empty("elsewhere"))
    bags = films.join(found, ["name", "position"], "left").groupBy("name").agg(F.collect_list(film).alias("films"))
    return distributors.select("name").join(bags, "name", "left").select("name", _or_empty("films"))


def _or_empty(bag: str) -> Column:
    """The column, with an empty bag in place of NULL."""
    return F.coalesce(F.col(bag), F.array()).alias(bag)


def same(left: pa.Table, right: pa.Table) -> bool:
    """Whether two nested tables hold the same rows equally often; arrays are bags, so that their order is free."""
    return differing(left, right) == 0


def inner_rows(df: DataFrame) -> int:
    """How many rows all arrays hold together, at every depth."""
    counts = [_inner_rows(F.col(field.name), field.dataType) for field in df.schema.fields]
    found = df.select(F.sum(reduce(add, counts, F.lit(0)))).first()
    return int(found[0] or 0) if found else 0


def _inner_rows(value: Column, of: DataType) -> Column:
    if isinstance(of, StructType):
        return reduce(add, (_inner_rows(value[field.name], field.dataType) for field in of.fields), F.lit(0))
    if isinstance(of, ArrayType):
        below = F.transform(value, lambda element: _inner_rows(element, of.elementType))
        return F.size(value) + F.aggregate(below, F.lit(0), add)
    return F.lit(0)
