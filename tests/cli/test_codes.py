"""Exit codes: what each says of the state, and that commands that read write nothing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import order

import ripplenest as rn
from ripplenest.cli.codes import CODES, DONE, NOT_PUBLISHED, REFUSED, WRONG
from ripplenest.store import Store

deltalake = pytest.importorskip("deltalake")

ROOT, DOCUMENTS = Path(__file__).parents[2], ("README", "OPERATIONS")

READING = {
    "show": lambda state: ("show", state, "big"),
    "show a relation": lambda state: ("show", state, "Orders", "--json"),
    "changes": lambda state: ("changes", state, "big", "--since", 5, "--nested"),
    "status": lambda state: ("status", state),
    "history": lambda state: ("history", state),
    "explain": lambda state: ("explain", f"{state}:big"),
    "verify": lambda state: ("verify", state),
    "doctor": lambda state: ("doctor", state),
}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def version(state: Path) -> int:
    with Store.open(state) as store:
        return store.version


@pytest.fixture
def table(state: Path, tmp_path: Path) -> Path:
    """A published view, and a version that is not published: its writer died."""
    with rn.open(state, engine="local") as db:
        db.publish("big", tmp_path / "table")
        shutil.copytree(tmp_path / "table", tmp_path / "before")
        with db.batch("shop", 4) as b:
            b.insert("Orders", [order(20)])
    shutil.rmtree(tmp_path / "table")
    (tmp_path / "before").rename(tmp_path / "table")
    return tmp_path / "table"


def shown(table: Path) -> int:
    return max(row["id"] for row in deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist())


@pytest.mark.parametrize("what", READING)
def test_commands_that_read_publish_nothing(state: Path, table: Path, run: Any, what: str) -> None:
    """They say what is not published. The next writer, and ``ripplenest.open``, publish it."""
    before, at = files(table), version(state)
    done = run(*READING[what](state))
    assert done.exit_code == DONE, done.stderr
    assert "is not published: the table shows version" in (done.stdout if what == "doctor" else done.stderr)
    assert files(table) == before and version(state) == at
    with rn.open(state, engine="local"):
        pass
    assert shown(table) == 20
    assert "is not published" not in run("status", state).stderr


WRITING = (("publish",), ("compact", "--all"), ("vacuum", "--keep", 3), ("rollback", 10, "--yes"))


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("command", WRITING)
def test_commands_that_write_publish(state: Path, run: Any, command: tuple[Any, ...]) -> None:
    name, *rest = command
    assert run(name, state, *rest).exit_code == DONE
    with rn.open(state, engine="local", catch_up=False) as db:
        assert db.behind() == ()


def broken(table: Path) -> None:
    for file in (table / "_delta_log").iterdir():
        file.write_text("{")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_rollback_that_is_committed_and_not_published(state: Path, table: Path, run: Any, more: Any) -> None:
    """To repeat it would be another rollback: the code is its own, and the message says what is committed."""
    broken(table)
    before = version(state)
    done = run("rollback", state, 7, "--yes", *more)
    assert (done.exit_code, done.stdout) == (NOT_PUBLISHED, "")
    assert f"version {before + 1} is committed; not published: big at {table}" in done.stderr
    assert "do not send them again" in done.stderr and "ripplenest publish STATE" in done.stderr
    assert version(state) == before + 1
    done = run("publish", state)
    assert done.exit_code == NOT_PUBLISHED and version(state) == before + 1
    shutil.rmtree(table)
    done = run("publish", state)
    assert done.exit_code == DONE and f"big: version {before + 1} is published" in done.stdout
    assert json.loads(run("publish", state, "--json").stdout)["published"][0]["version"] == before + 1


@pytest.mark.parametrize("command", [("compact", "--all"), ("vacuum", "--keep", 2), ("publish",)])
def test_other_commands_that_could_not_publish(state: Path, table: Path, run: Any, command: tuple[Any, ...]) -> None:
    broken(table)
    name, *rest = command
    done = run(name, state, *rest)
    assert done.exit_code == NOT_PUBLISHED, done.stderr
    assert f"version {version(state)} is committed; not published" in done.stderr


@pytest.mark.parametrize(
    ("command", "method", "left"),
    [
        (("rollback", 7, "--yes"), "commit", "nothing was changed"),
        (("compact", "--all"), "compact", "rows are as they were"),
        (("vacuum",), "vacuum", "rows are as they were"),
    ],
)
def test_what_an_error_left(
    state: Path, run: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[Any, ...], method: str, left: str
) -> None:
    def fails(*_: object) -> None:
        raise rn.errors.StateError("no space left")

    before = version(state)
    monkeypatch.setattr(Store, method, fails)
    name, *rest = command
    done = run(name, state, *rest)
    assert (done.exit_code, done.stdout) == (REFUSED, "")
    assert "no space left" in done.stderr and left in done.stderr
    monkeypatch.undo()
    assert version(state) == before


def test_a_copy_adopts_on_the_command_line(state: Path, table: Path, run: Any, tmp_path: Path) -> None:
    run("publish", state)
    copy = Path(shutil.copytree(state, tmp_path / "copy"))
    assert "belongs to a copy of this state" in run("status", copy).stderr
    assert run("publish", copy).exit_code == NOT_PUBLISHED
    done = run("adopt", copy, "big", table)
    assert done.exit_code == DONE and "big: version" in done.stdout
    assert run("publish", copy).exit_code == DONE and run("publish", state).exit_code == NOT_PUBLISHED
    for bad, said in ((("nothing", table), "no such view"), (("big", "dbfs:/t"), "deltalake knows no such URL")):
        done = run("adopt", copy, *bad)
        assert done.exit_code == REFUSED and said in done.stderr and "nothing was changed" in done.stderr


def test_what_is_published_and_no_longer(state: Path, run: Any, tmp_path: Path) -> None:
    """``publish`` makes a table, ``adopt`` never does: a path that was mistyped is refused."""
    table, wrong = tmp_path / "table", tmp_path / "tabel"
    done = run("adopt", state, "big", wrong)
    assert done.exit_code == REFUSED and "there is no table to adopt" in done.stderr and "publish" in done.stderr
    assert not wrong.exists() and version(state) == 9
    for half in (("big",), ("--layout", "nested"), ("--rebuild",)):
        assert run("publish", state, *half).exit_code == REFUSED
    done = run("publish", state, "skus", table, "--layout", "shredded")
    with rn.open(state, engine="local", catch_up=False) as db:
        rows = sum(map(len, (db.view("skus").flat_to_arrow(), *db.view("skus").dictionaries_to_arrow().values())))
    assert done.exit_code == DONE and f"skus: version 10 is published, {rows} rows written" in done.stdout
    for again in (("publish",), ("publish", state, "skus", table), ("adopt", state, "skus", table)):
        assert run(*(again if len(again) > 1 else (*again, state))).exit_code == DONE  # its layout is known
    done = run("publish", state, "skus", table, "--rebuild")
    assert done.exit_code == DONE and f"skus: version 10 is published, {rows} rows written" in done.stdout
    assert run("unpublish", state, "skus", wrong).exit_code == REFUSED
    done = run("unpublish", state, "skus", table)
    assert done.exit_code == DONE and "0 publications left" in done.stdout
    assert run("publish", state).stdout == "nothing is published from this state\n" and (table / "flat").is_dir()


def test_a_table_that_others_changed_is_written_whole(state: Path, table: Path, run: Any) -> None:
    """By what the message says."""
    deltalake.DeltaTable(str(table)).delete("id > 0")
    done = run("publish", state)
    assert done.exit_code == NOT_PUBLISHED and "others changed the Delta table" in done.stderr
    assert "ripplenest publish STATE VIEW PATH --rebuild" in done.stderr
    assert run("publish", state, "big", table, "--rebuild").exit_code == DONE and shown(table) == 20
    assert run("publish", state).exit_code == DONE


def test_something_wrong_that_was_found(state: Path, run: Any, tmp_path: Path) -> None:
    (tmp_path / "v.nrc").write_text("view v = [x | x in R]", encoding="utf-8")
    assert run("check", tmp_path / "v.nrc").exit_code == WRONG
    for args in (("show", state, "none"), ("history", state, "--limit", -1), ("rollback", state, "x")):
        assert run(*args).exit_code == REFUSED


def test_the_help_and_the_documents_say_the_codes(run: Any) -> None:
    said = " ".join(run("--help").stdout.replace("│", " ").split())
    readme, operations = (" ".join((ROOT / f"{name}.md").read_text("utf-8").split()) for name in DOCUMENTS)
    for code, meaning in CODES.items():
        assert f"{code}: {meaning}." in said, said
        assert f"| {code} | {meaning} |" in operations
    assert "ripplenest publish state/" in readme
