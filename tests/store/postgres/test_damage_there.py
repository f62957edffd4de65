"""Damage in the database: rows that were changed, and commits that were lost."""

import json
import secrets
import shutil
from pathlib import Path

import pytest
from store import test_damage
from store.test_damage import everything
from support.postgres import psycopg
from support.postgres_states import PAIR, files, named, one, schema_of

from ripplenest.nrc.errors import CorruptState
from ripplenest.store import Change, Store
from ripplenest.store.database.tables import ALL
from ripplenest.store.folder import MARKER

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server

DAMAGE = (
    "UPDATE segments SET died = NULL WHERE died IS NOT NULL AND table_id = 1",
    "UPDATE segments SET died = 11 WHERE id = 20",
    f"DELETE FROM segment_indexes WHERE segment_id = ({test_damage.LAST})",
    "UPDATE segments SET is_delta = 0 WHERE id = 3",
    "UPDATE segments SET file = (SELECT file FROM segments WHERE id = 5) WHERE id = 3",
    "UPDATE segments SET file = '/etc/passwd' WHERE id = 3",
    "DELETE FROM versions WHERE n = 12",
    "DELETE FROM versions WHERE n = 5",
    "UPDATE versions SET seq = 99 WHERE seq = 4",
    "UPDATE versions SET note = '{}' WHERE n = 4",
    "UPDATE versions SET source = source || chr(27) || '0000' WHERE n = 4",
    "UPDATE meta SET value = 'q' WHERE key = 'program'",
    "UPDATE meta SET value = '11' WHERE key = 'newest'",
    "DELETE FROM meta WHERE key = 'newest'",
    "UPDATE meta SET value = '5 x' WHERE key = 'retain'",
    "UPDATE meta SET value = '1' WHERE key = 'forgotten'",
    "UPDATE tables SET columns = replace(columns, 'true', 'false')",
    "DELETE FROM indexes WHERE position = 1",
    "DROP TABLE segment_indexes",
    "DROP TABLE batches",
    "ALTER TABLE versions DROP COLUMN note",
    "ALTER TABLE segments ALTER COLUMN rows TYPE text",
)


def all_asked(folder: Path) -> object:
    with Store.open(folder) as s:
        return everything(folder), s.usage()


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_a_changed_catalogue_row_is_named(tmp_path, server, step):
    """By well-formed writes, each in a copy of the state: what PostgreSQL itself cannot notice."""
    test_damage.build(tmp_path / "whole")
    whole = all_asked(tmp_path / "whole")
    for i, text in enumerate(("SELECT", *DAMAGE[::step])):
        state = tmp_path / str(i)
        with server.connect("states") as c:
            copy_state(c, tmp_path / "whole", state)
            assert c.execute(text).rowcount, text
        if i == 0:
            assert all_asked(state) == whole
            continue
        with pytest.raises(CorruptState) as caught:
            all_asked(state)
            pytest.fail(f"not noticed: {text}")
        assert caught.value.where.endswith(("/states", ".deltas")), text


def copy_state(c: psycopg.Connection, state: Path, copy: Path) -> None:
    """A copy of a state with everything that it has in the database, where ``c`` then is."""
    shutil.copytree(state, copy)
    marker = json.loads((state / MARKER).read_text()) | {"id": secrets.token_hex(16)}
    (copy / MARKER).write_text(json.dumps(marker))
    old, new = schema_of(state), schema_of(copy)
    c.execute(f"CREATE SCHEMA {new}")
    for table in ALL.tables:
        c.execute(f"CREATE TABLE {new}.{table} (LIKE {old}.{table} INCLUDING ALL)")
        c.execute(f"INSERT INTO {new}.{table} SELECT * FROM {old}.{table}")
    c.execute(f"SET search_path = {new}")


def test_a_database_that_lost_commits_is_not_built_upon(tmp_path, server):
    """A standby took over that had not heard of version 3, or a backup: nobody builds upon what they remember of it."""
    state = tmp_path / "state"
    with Store.open(state) as s, server.connect("states") as c:
        s.commit(Change(tables=(PAIR,)), 0)
        s.commit(one(1), 1)
        copy_state(c, state, tmp_path / "backup")
        s.commit(one(2), 2)
        lost, backup = schema_of(state), schema_of(tmp_path / "backup")
        c.execute(f"ALTER SCHEMA {lost} RENAME TO ripplenest_lost")
        c.execute(f"ALTER SCHEMA {backup} RENAME TO {lost}")
        with Store.open(state) as other:
            assert other.commit(one(7), 2) == 3
        assert s.snapshot().scan("pair").counts() == {(1, "shop"): 1, (7, "shop"): 1}
        assert s.commit(one(2), 3) == 4
    with Store.open(state) as s:
        assert s.snapshot().scan("pair").counts() == {(i, "shop"): 1 for i in (1, 2, 7)} and s.check_segments() == 9
        assert files(state) == named(s)
