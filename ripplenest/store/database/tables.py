"""The tables of the catalogue. What must agree with what is in ``chain.py``, who reads them in ``records.py``."""

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Text, UniqueConstraint

from ripplenest.store.database.verbatim import Verbatim

ALL = sa.MetaData()
META = sa.Table("meta", ALL, Column("key", Verbatim, primary_key=True), Column("value", Verbatim, nullable=False))
TABLES = sa.Table(
    "tables",
    ALL,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", Verbatim, nullable=False, unique=True),
    Column("columns", Text, nullable=False),
    Column("born", BigInteger, nullable=False),
)
INDEXES = sa.Table(
    "indexes",
    ALL,
    Column("table_id", ForeignKey("tables.id"), primary_key=True),
    Column("columns", Text, primary_key=True),
    Column("position", Integer, nullable=False),
)
SEGMENTS = sa.Table(
    "segments",
    ALL,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("table_id", ForeignKey("tables.id"), nullable=False),
    Column("file", Text, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("level", Integer, nullable=False),
    Column("born", BigInteger, nullable=False),
    Column("died", BigInteger),
    Column("is_delta", Integer, nullable=False),
    Index("segments_by_death", "died"),
    Index("segments_by_birth", "born"),
    Index("segments_by_file", "file"),
)
SEGMENT_INDEXES = sa.Table(
    "segment_indexes",
    ALL,
    Column("segment_id", ForeignKey("segments.id"), primary_key=True),
    Column("columns", Text, primary_key=True),
    Column("file", Text, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Index("segment_indexes_by_file", "file"),
)
VERSIONS = sa.Table(
    "versions",
    ALL,
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Text, nullable=False),
    Column("source", Verbatim),
    Column("seq", BigInteger),
    Column("digest", Verbatim, nullable=False),
    Column("note", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("live", Text, nullable=False),
    Column("schema", Text, nullable=False),
    Column("parent", Text, nullable=False),
    Column("state", Text, nullable=False),
    UniqueConstraint("source", "seq"),
)
# The batches of versions that are no longer kept: they must be known for ever, or a late retry would apply them again.
BATCHES = sa.Table(
    "batches",
    ALL,
    Column("source", Verbatim, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, nullable=False),
    Column("digest", Verbatim, nullable=False),
    Column("seal", Text, nullable=False),
)
