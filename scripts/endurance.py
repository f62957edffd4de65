"""Batch after batch, on and on: what the process and the state take up and how long batches take, as JSON.

    python -P scripts/endurance.py python 1000 2000 10000     after so many batches, without Spark
    python -P scripts/endurance.py spark 100 500              with it

``pytest -m long tests/api/test_endurance.py`` runs it and says whether all of it stays as it is.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.endurance import figures, on_spark

if __name__ == "__main__":
    engine, marks = sys.argv[1], [int(mark) for mark in sys.argv[2:]]
    print(json.dumps(figures(engine, marks, also=on_spark() if engine == "spark" else lambda _: {}), indent=2))
