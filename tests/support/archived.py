"""States of each release, as it wrote them: archives in ``tests/data/states``."""

import shutil
from pathlib import Path

STATES = Path(__file__).parent.parent / "data" / "states"
RELEASES = sorted(path.name.removesuffix(".tar.gz") for path in STATES.glob("*.tar.gz"))


def unpacked(release: str, folder: Path) -> Path:
    """The state of ``release``, anew in ``folder``. Without a filter of tarfile, which Python has since 3.11.4 only."""
    shutil.unpack_archive(STATES / f"{release}.tar.gz", folder)
    return folder / "state"
