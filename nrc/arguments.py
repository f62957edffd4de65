"""What callers give: each check says in the same way where it was, what was wanted, what came and what was possible.

For the borders of the public API only. What is typed is not asked again inside, and values of rows have checks of their
own (``nrc/values.py``).
"""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from ripplenest.nrc.errors import RipplenestError, StateError, WrongValue

Wrong = type[RipplenestError]
T = TypeVar("T", bound=str)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
# Places that people also write without a slash; anything else before a colon may be the name of a folder.
_ELSEWHERE = ("s3", "s3a", "s3n", "gs", "hdfs", "dbfs", "abfs", "abfss", "wasb", "wasbs", "adl", "az", "http", "https")
_STORES = re.compile(rf"(?:{'|'.join(_ELSEWHERE)}):", re.IGNORECASE)


def kind(value: object) -> str:
    """What a message shows of a value of a wrong kind: a number of usual size as it is, of all else the type."""
    plain = value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 2**64)
    return repr(value) if plain else type(value).__name__


def one_of(value: object, possible: Collection[T], what: str, where: str = "", error: Wrong = WrongValue) -> T:
    """The one of ``possible`` names that ``value`` is. Raises ``error``."""
    found = next((known for known in possible if isinstance(value, str) and known == value), None)
    if found is None:
        raise error(what, where=where, got=value if isinstance(value, str) else kind(value), possible=possible)
    return found


def flag(value: object, where: str) -> bool:
    """Raises WrongValue for what is neither True nor False: ``"no"`` would count as yes."""
    if not isinstance(value, bool):
        raise WrongValue("not a yes or no", where=where, got=kind(value), possible=["True", "False"])
    return value


def count(value: object, where: str, least: int) -> int:
    """Raises WrongValue for what is no whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise WrongValue("not a number of them", where=where, wanted=f"a whole number from {least} on", got=kind(value))
    return value


def text(value: object, where: str) -> str:
    """Raises WrongValue for what is no text."""
    if not isinstance(value, str):
        raise WrongValue("not a text", where=where, wanted="str", got=kind(value))
    return value


def mapping(value: object, where: str, error: Wrong = WrongValue) -> Mapping[str, object]:
    """Raises WrongValue for what is no mapping."""
    if not isinstance(value, Mapping):
        raise error("not a mapping", where=where, wanted="a dict", got=kind(value), possible=['{"M": 100}'])
    return value


def moment(value: object, where: str) -> int | tuple[str, int]:
    """A version, or the (source, seq) of a batch; whether there is one is not asked. Raises StateError."""
    match value:
        case bool():
            pass
        case int():
            return value
        case (str(source), int(seq)):
            return source, seq
    wanted = "a version, or the (source, seq) of a batch"
    raise StateError("not a version", where=where, wanted=wanted, got=kind(value), possible=["12", '("shop", 3)'])


def path_text(value: object, where: str, wanted: str = "a path") -> str:
    """``value`` as text. Raises WrongValue for what is no path: an empty one, or one that no file system can have."""
    found = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(found, str):
        raise WrongValue("not a path", where=where, wanted=wanted, got=kind(value))
    if not found:
        raise WrongValue("not a path", where=where, wanted=wanted, got="an empty string")
    if "\0" in found:
        raise WrongValue("a path with U+0000, which ends it", where=where, wanted=wanted, got=ascii(found))
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        got = ascii(found)
        raise WrongValue("a path that the file system cannot write", where=where, wanted=wanted, got=got) from None
    return found


def local_path(value: object, where: str) -> Path:
    """A path on this machine; texts that are ``file:`` URLs are honoured (a Path has lost a slash). Raises WrongValue
    for any other URL, which would be taken for the name of a folder, and what ``path_text`` raises."""
    found = path_text(value, where)
    if isinstance(value, str) and found.lower().startswith("file:"):
        return Path(of_file_url(found, where))
    if is_elsewhere(found):
        possible = ["a folder on this machine, or one that is mounted", "./NAME for a folder with such a name"]
        raise WrongValue("a URL, and not a folder", where=where, wanted="a local path", got=found, possible=possible)
    return Path(found)


def is_elsewhere(path: str) -> bool:
    """Whether a path is a URL of something that is no local file."""
    return (_SCHEME.match(path) or _STORES.match(path)) is not None


def of_file_url(url: str, where: str) -> str:
    """The path in a ``file:`` URL. Raises WrongValue for one of another host, or with U+0000."""
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise WrongValue("a file on another host", where=where, wanted="file:///path", got=ascii(parts.netloc))
    if not parts.path.startswith("/"):
        raise WrongValue("not the URL of a file", where=where, wanted="file:///path", got=ascii(url))
    return path_text(unquote(parts.path), where)
