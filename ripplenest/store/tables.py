"""The tables of the catalogue. Digests and what must agree with what are in ``catalogue.py``."""

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Index, Integer, Text, UniqueConstraint

ALL = sa.MetaData()
META = sa.Table("meta", ALL, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))
TABLES = sa.Table(
    "tables",
    ALL,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("columns", Text, nullable=False),
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
    Column("id", Integer, primary_key=True),
    Column("table_id", ForeignKey("tables.id"), nullable=False),
    Column("file", Text, nullable=False),
    Column("offset", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("level", Integer, nullable=False),
    Column("born", Integer, nullable=False),
    Column("died", Integer),
    Column("is_delta", Integer, nullable=False),
    Index("segments_by_death", "died"),
    Index("segments_by_birth", "born"),
)
SEGMENT_INDEXES = sa.Table(
    "segment_indexes",
    ALL,
    Column("segment_id", ForeignKey("segments.id"), primary_key=True),
    Column("columns", Text, primary_key=True),
    Column("file", Text, nullable=False),
    Column("offset", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
)
VERSIONS = sa.Table(
    "versions",
    ALL,
    Column("n", Integer, primary_key=True),
    Column("source", Text),
    Column("seq", Integer),
    Column("digest", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("live", Text, nullable=False),
    Column("schema", Text, nullable=False),
    Column("parent", Text, nullable=False),
    Column("state", Text, nullable=False),
    UniqueConstraint("source", "seq"),
)
