"""``scripts/batch_cost.py`` runs, and finds each phase where it is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_phase_of_a_batch_is_measured() -> None:
    """A phase that nothing is counted for has lost the function that it is about."""
    command = [sys.executable, "-P", "scripts/batch_cost.py", str(ROOT), "--rounds", "1", "--batches", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *rows, ratio = done.stdout.splitlines()
    found = {name: [float(ms) for ms in spent] for name, *spent in map(str.split, rows)}
    assert {*found} == {"checking", "triggers", "segments", "files", "fsync", "catalogue", "commit", "rest", "all"}
    assert all(ms > 0 for spent in found.values() for ms in spent), found
    assert all(len(spent) == 2 for spent in found.values()) and ratio.startswith("ratio ")
