#!/bin/sh
# Before a release: an hour of random states with faults (or as many minutes as given), then 10,000 batches without
# Spark and 500 on it. Figures go to tests/reports. Takes the pytest to run: scripts/soak.sh .venv/bin/pytest [minutes]
set -eu
cd "$(dirname "$0")/.."
RIPPLENEST_MINUTES="${2:-60}" "$1" -m long tests/api/test_stateful.py
"$1" -m long tests/api/test_endurance.py
