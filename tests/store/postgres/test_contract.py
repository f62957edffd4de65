"""The contract of the store, with the catalogue on PostgreSQL: tests of other modules run here again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store import test_damage, test_model, test_store
from store.test_damage import (
    test_files_of_a_commit_that_happened_after_all_are_kept,
    test_files_of_a_writer_that_died_are_removed,
    test_what_the_file_system_refuses_is_a_state_error,
)
from store.test_store import (
    test_a_scanned_table_outlives_the_store,
    test_an_empty_delta_writes_nothing,
    test_batches_are_found_again,
    test_concurrent_writers_never_fork,
    test_everything_cancelled_leaves_no_segment,
    test_meta_and_tables_survive,
    test_one_commit_costs_few_fsyncs,
    test_only_the_owner_may_read,
    test_other_folders_and_formats_are_refused,
    test_the_loser_of_a_race_changes_nothing,
    test_wrong_questions_are_named,
)
from support.strategies import EXPLORE

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server

CONTRACT = (
    test_files_of_a_commit_that_happened_after_all_are_kept,
    test_files_of_a_writer_that_died_are_removed,
    test_what_the_file_system_refuses_is_a_state_error,
    test_a_scanned_table_outlives_the_store,
    test_an_empty_delta_writes_nothing,
    test_batches_are_found_again,
    test_concurrent_writers_never_fork,
    test_everything_cancelled_leaves_no_segment,
    test_meta_and_tables_survive,
    test_one_commit_costs_few_fsyncs,
    test_only_the_owner_may_read,
    test_other_folders_and_formats_are_refused,
    test_the_loser_of_a_race_changes_nothing,
    test_wrong_questions_are_named,
)


def test_the_contract_is_tested_here(store):
    assert len(CONTRACT) == 14 and store.where.startswith("postgresql")


def test_a_failed_commit_changes_nothing(tmp_path, monkeypatch):
    test_damage.test_a_failed_catalogue_write_changes_nothing(tmp_path, monkeypatch, KeyboardInterrupt())


@pytest.mark.long
@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_a_failed_write_changes_nothing_long(tmp_path, fail_at):
    test_damage.test_a_failed_write_changes_nothing(tmp_path, fail_at)


@pytest.mark.long
def test_many_commits_long(store, monkeypatch):
    test_store.test_merging_bounds_segments_and_keeps_answers(store, monkeypatch)


@pytest.mark.long
def test_handles_are_bounded_long(store):
    test_store.test_handles_are_bounded(store)


law = test_model.test_store_is_its_changes.hypothesis.inner_test
drawn = given(changes=st.lists(test_model.deltas(), min_size=1, max_size=12), indexed_at=st.integers(0, 11))


@settings(max_examples=2)
@drawn
def test_store_is_its_changes(changes, indexed_at):
    law(False, False, changes, indexed_at)


@pytest.mark.long
@settings(EXPLORE, max_examples=60)
@drawn
def test_store_is_its_changes_long(changes, indexed_at):
    law(False, False, changes, indexed_at)
