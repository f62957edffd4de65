"""What ``doctor`` says of one thing that it looked at."""

from typing import Literal

from attrs import asdict, frozen

import ripplenest as rn
from ripplenest.cli.output import message


@frozen
class Finding:
    """``found`` of ``what``: fine, worth knowing, or wrong; ``advice`` says what to do about it."""

    state: Literal["ok", "warning", "wrong"]
    what: str
    found: str
    advice: str | None = None

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.found}\n→ {self.advice}" if self.advice else self.found

    def to_dict(self) -> dict[str, str | None]:
        """As plain data."""
        return asdict(self)


def ok(what: str, found: str) -> Finding:
    return Finding("ok", what, found)


def warning(what: str, found: str, advice: str) -> Finding:
    return Finding("warning", what, found, advice)


def wrong(what: str, found: str | rn.RipplenestError, advice: str) -> Finding:
    return Finding("wrong", what, message(found) if isinstance(found, rn.RipplenestError) else found, advice)
