"""The statements that every batch needs, made once. What each must be given are its ``bindparam``s."""

from typing import Any

import sqlalchemy as sa

from ripplenest.store.database.prepared import Prepared, Writing
from ripplenest.store.database.tables import ALL, BATCHES, META, SEGMENT_INDEXES, SEGMENTS, VERSIONS


def _tip() -> sa.Select[Any]:
    v, first = VERSIONS.c, VERSIONS.alias().c.n
    noted = [
        sa.select(META.c.value).where(META.c.key == key).scalar_subquery().label(key)
        for key in ("newest", "oldest", "forgotten", "retain")
    ]
    oldest = sa.select(sa.func.min(first)).scalar_subquery().label("first")
    segment = sa.select(sa.func.max(SEGMENTS.c.id)).scalar_subquery().label("last_segment")
    return sa.select(v.n, v.state, oldest, segment, *noted).order_by(v.n.desc()).limit(1)


def _of_source(table: sa.Table) -> sa.Select[Any]:
    """The batch that is asked for and the last one of its source."""
    source, others = sa.bindparam("source", type_=table.c.source.type), table.alias().c
    last = sa.select(sa.func.max(others.seq)).where(others.source == source).scalar_subquery()
    asked = sa.bindparam("seq", type_=sa.BigInteger())
    return sa.select(table).where(table.c.source == source, (table.c.seq == asked) | (table.c.seq == last))


def _last(table: sa.Table) -> sa.Select[Any]:
    """The last batch of each source."""
    other = table.alias().c
    last = sa.select(other.source, sa.func.max(other.seq).label("seq")).where(other.source.is_not(None))
    found = last.group_by(other.source).subquery().c
    return sa.select(table).where(table.c.source == found.source, table.c.seq == found.seq)


def _named(table: sa.Table) -> sa.Select[Any]:
    source, seq = sa.bindparam("source", type_=table.c.source.type), sa.bindparam("seq", type_=sa.BigInteger())
    return sa.select(table.c.n).where(table.c.source == source, table.c.seq == seq)


def _gone_files() -> sa.Select[Any]:
    """The files that dead segments and their indexes are in, and nothing else is."""
    living, named = SEGMENTS.alias().c, SEGMENT_INDEXES.alias().c
    files = sa.union(sa.select(SEGMENTS.c.file).where(_IS_GONE), sa.select(SEGMENT_INDEXES.c.file).where(_OF_GONE))
    found = files.subquery().c.file
    lives = living.died.is_(None) | (living.died > _BEFORE)
    in_segments = sa.exists(sa.select(living.id).where(living.file == found, lives))
    in_indexes = sa.exists(sa.select(named.segment_id).where(named.file == found, named.segment_id.not_in(_GONE)))
    return sa.select(found).where(~in_segments, ~in_indexes)


# reading: the newest version, a range of versions, the batch that is asked for and the last of its source, or of each
TIP = Prepared(_tip())
RANGE = Prepared(
    sa.select(VERSIONS)
    .where(VERSIONS.c.n >= sa.bindparam("first"), VERSIONS.c.n <= sa.bindparam("last"))
    .order_by(VERSIONS.c.n)
)
OF_SOURCE, FORGOTTEN_OF_SOURCE = Prepared(_of_source(VERSIONS)), Prepared(_of_source(BATCHES))
LASTS, FORGOTTEN_LASTS = Prepared(_last(VERSIONS)), Prepared(_last(BATCHES))
IS_APPLIED = Prepared(sa.union_all(_named(VERSIONS), _named(BATCHES)))

# writing: rows of each table by its name, settings, the death of segments
INSERT = {table.name: Writing(sa.insert(table)) for table in ALL.sorted_tables}
SET = Writing(sa.update(META).where(META.c.key == sa.bindparam("at")).values(value=sa.bindparam("given")))
DIE = Writing(sa.update(SEGMENTS).where(SEGMENTS.c.id == sa.bindparam("dead")).values(died=sa.bindparam("at")))

# forgetting: all versions before one, and the segments that died with them
_BEFORE = sa.bindparam("before", type_=sa.BigInteger())
_IS_GONE = SEGMENTS.c.died <= _BEFORE
_GONE = sa.select(SEGMENTS.c.id).where(_IS_GONE)
_OF_GONE = SEGMENT_INDEXES.c.segment_id.in_(_GONE)
GONE_FILES = Prepared(_gone_files())
DROP_VERSIONS = Writing(sa.delete(VERSIONS).where(VERSIONS.c.n < _BEFORE))
DROP_INDEXES = Writing(sa.delete(SEGMENT_INDEXES).where(_OF_GONE))
DROP_SEGMENTS = Writing(sa.delete(SEGMENTS).where(_IS_GONE))
