#!/bin/sh
# delta-spark and this project, installed in one environment, leave each other alone.
#
#   scripts/check_delta_spark.sh PYTHON
#
# PYTHON has the dependencies of this project, and pip; its path is absolute or starts at the repository.
#
# The environment is made in a scratch folder and removed. It borrows the dependencies through a .pth file, whose
# folder comes after its own on the path, so that what is installed here is found first.
set -eu
python=$1
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# A copy, since building leaves files beside the sources. -P keeps the links that the packages are found by.
mkdir "$scratch/source"
cp -R -P pyproject.toml README.md LICENSE ripplenest nrc shred delta cost examples "$scratch/source"

"$python" -m venv --without-pip "$scratch/venv"
"$python" -m pip --disable-pip-version-check --no-input --python "$scratch/venv/bin/python" \
	install --quiet --no-deps "$scratch/source" delta-spark importlib_metadata zipp

"$python" - "$scratch/venv/bin/python" <<'END'
import subprocess, sys, sysconfig

purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
site = subprocess.run([sys.argv[1], "-c", purelib], check=True, capture_output=True, text=True).stdout.strip()
with open(f"{site}/borrowed.pth", "w") as pth:
    pth.write(sysconfig.get_path("purelib") + "\n")
END

cd "$scratch"
venv/bin/python - <<'END'
from importlib.metadata import files, packages_distributions
from pathlib import Path

import delta
from delta import DeltaTable

import ripplenest.delta

here = Path("venv").resolve()
ours, theirs = Path(ripplenest.delta.__file__).resolve(), Path(delta.__file__).resolve()
assert here in ours.parents and here in theirs.parents, (ours, theirs)
assert ours.parent != theirs.parent and ripplenest.delta is not delta, (ours, theirs)
assert DeltaTable.__module__.startswith("delta."), DeltaTable.__module__
owners = [name.replace("_", "-") for name in packages_distributions()["delta"]]
assert owners == ["delta-spark"], owners

modules = {path.parts[0] for path in files("ripplenest") or () if path.suffix in {".py", ".properties"}}
assert modules == {"ripplenest"}, modules
assert Path(ripplenest.__file__).with_name("spark").joinpath("log4j2.properties").is_file()
print(f"delta is {theirs.relative_to(here)}, ripplenest.delta is {ours.relative_to(here)}")
END
