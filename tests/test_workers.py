"""The workers of ``make test`` get whole groups: what uses Spark shares one, a module that counts stays together."""

import gc
import os
import sys
from pathlib import Path

import pytest
from support.states import MEMORY
from support.wide import WIDE


def test_groups_stay_together(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> None:
    """pytest-xdist tells groups by a suffix of the test's name; where that gets lost, tests are spread one by one."""
    if not pytestconfig.getoption("loadgroup", False):
        pytest.skip("no workers")
    grouped = [item for item in request.session.items if item.get_closest_marker("xdist_group")]
    assert grouped and all("@" in item.nodeid for item in grouped)


def test_what_is_imported_is_compiled_once_and_kept() -> None:
    """In this process and in those that tests start, whatever the environment says of writing bytecode."""
    assert not sys.dont_write_bytecode and "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert gc.isenabled() and gc.get_freeze_count() > 0


@pytest.mark.skipif(MEMORY is None, reason="there is no memory to put folders into")
def test_what_commits_waits_for_no_disk(tmp_path: Path) -> None:
    assert tmp_path.is_relative_to(str(MEMORY))


@pytest.mark.parametrize("name", WIDE)
def test_what_is_not_in_make_test_is_there(name: str) -> None:
    path, _, test = name.partition("::")
    found = Path(__file__).parent / path
    assert found.is_dir() if path.endswith("/") else f"def {test or 'test_'}" in found.read_text(encoding="utf-8")
