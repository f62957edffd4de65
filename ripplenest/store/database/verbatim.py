"""Text of users in the catalogue: any Python string comes back as it was, whichever database holds it.

PostgreSQL has no text with U+0000, and no database has lone surrogates. These characters, and the one that marks them,
are stored as U+001B and four hexadecimal digits; all other text, which is nearly all, as it is.
"""

import re

from sqlalchemy import Text, TypeDecorator
from sqlalchemy.engine import Dialect

MARK = "\x1b"
_AWKWARD = re.compile(f"[\0{MARK}\ud800-\udfff]")
_STORED = re.compile(f"{MARK}([0-9a-f]{{4}})")


class Verbatim(TypeDecorator[str]):
    """A column of users' text. Equal texts are stored equally, so that it may be a key."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else _AWKWARD.sub(lambda found: f"{MARK}{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else _STORED.sub(lambda found: chr(int(found[1], 16)), value)
