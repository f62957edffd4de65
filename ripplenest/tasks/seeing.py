"""Whether workers can do what tasks are asked to."""

from pathlib import Path

from ripplenest.errors import EnvironmentProblem
from ripplenest.store.staging import Staging
from ripplenest.tasks.jobs import UNSEEN, Jobs
from ripplenest.tasks.kinds import Seeing


def sees(jobs: Jobs, state: Path) -> bool:
    """Whether workers see the folder of a state, and have this package."""
    with Staging.begin(state) as staging:
        try:
            said = jobs.on_work(Seeing, str(staging.folder), [""] * jobs.at_once)
        except EnvironmentProblem:
            return False
        return UNSEEN not in said
