"""The command line tool ``ripplenest``; ``app`` says what its exit codes mean.

files, program            views in files
states                    which folder, which moment, which view or relation
views, reading, overview, versions, checking    the commands
findings, machine, folder what ``doctor`` looks at
output                    what all of them print
"""

from ripplenest.cli.app import app
from ripplenest.cli.checking import doctor, verify
from ripplenest.cli.overview import status
from ripplenest.cli.reading import changes, show
from ripplenest.cli.versions import compact, history, rollback, vacuum
from ripplenest.cli.views import check, demo, explain

__all__ = ["app"]

COMMANDS = (demo, check, explain, show, changes, status, history, rollback, compact, vacuum, verify, doctor)

for command in COMMANDS:
    app.command()(command)
