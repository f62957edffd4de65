"""A published table is measured beside deltalake's own writing, and compared with the view."""

from pathlib import Path
from typing import Any

import pytest

from ripplenest.bench import published
from ripplenest.bench.data import Data
from ripplenest.bench.measure import AFTER, BEFORE, Differs

DATA = Data(0.0001, 3)


def test_a_publication_and_batches_that_it_follows(folder: Path) -> None:
    """Sizes above a tenth of the items are left out, and nothing of a copy is left."""
    found = published.measure_published(DATA, 2, folder, sizes=(1, 10, 10_000))
    assert (found.workload, found.scale, found.rows) == ("f2", DATA.scale, DATA.customers.num_rows)
    assert found.table_bytes > 0 and found.whole > 0 and found.floor > 0
    assert found.followed[0].touched == 1
    assert [f.rows for f in found.followed] == [1, 10]
    for f in found.followed:
        assert 0 < f.touched <= f.rows
        for timing in (f.batch, f.publish, f.floor):
            assert timing.rounds == 2 and 0 < timing.least <= timing.median <= timing.most
    assert not (folder / "copy").exists()


@pytest.mark.parametrize(("late", "when"), [(0, BEFORE), (1, AFTER)])
def test_a_table_that_is_not_the_view_is_refused(
    folder: Path, late: int, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    whole = published.differing

    def without_one(view: Any, shown: Any) -> int:
        compared.append(shown.num_rows)
        return whole(view, shown.slice(len(compared) > late))

    monkeypatch.setattr(published, "differing", without_one)
    with pytest.raises(Differs, match=f"1 rows differ {when}"):
        published.measure_published(DATA, 1, folder, sizes=(1,))
