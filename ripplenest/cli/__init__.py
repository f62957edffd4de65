"""The command line tool ``ripplenest``; ``codes`` says what its exit codes mean.

``files`` and ``program`` read views in files; ``states`` says which folder, which moment, which view or relation is
meant; ``findings``, ``machine`` and ``folder`` are what ``doctor`` looks at; ``output`` is what all of them print with.
The commands themselves are in ``views``, ``reading``, ``overview``, ``versions``, ``definitions``, ``publishing``,
``migrating``, ``checking`` and ``bench``.
"""

from ripplenest.cli.app import app
from ripplenest.cli.bench import bench
from ripplenest.cli.checking import doctor, verify
from ripplenest.cli.definitions import drop, rebuild
from ripplenest.cli.migrating import migrate
from ripplenest.cli.overview import status
from ripplenest.cli.publishing import adopt, publish, unpublish
from ripplenest.cli.reading import changes, show
from ripplenest.cli.versions import compact, history, rollback, vacuum
from ripplenest.cli.views import check, demo, explain

__all__ = ["app"]

COMMANDS = (
    *(demo, check, explain, show, changes, status, history),
    *(rollback, rebuild, drop, compact, vacuum, publish, unpublish, adopt, verify, doctor, migrate, bench),
)

for command in COMMANDS:
    app.command()(command)
