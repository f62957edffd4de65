"""Where a view is published and how: what a database remembers of it, and the folders of its Delta tables."""

import json
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import unquote, urlsplit

import cattrs
from attrs import asdict, frozen
from cattrs.errors import BaseValidationError

from ripplenest.identity import digest
from ripplenest.nrc.errors import CorruptState, StateError, WrongValue

Layout = Literal["nested", "shredded"]
JSON = cattrs.Converter(forbid_extra_keys=True)
OWN = re.compile(r"_bucket=\d+|_delta_log|_change_data")  # what we write into the folder of a table
LONGEST = 40  # characters of a site in the name of its folder, which a digest ends


@frozen
class Target:
    """``view`` as Delta tables at ``path``: an absolute local path, or a URL that deltalake understands."""

    view: str
    path: str
    layout: Layout = "nested"

    @classmethod
    def of(cls, view: str, path: str | os.PathLike[str], layout: str = "nested") -> "Target":
        """The target that a user means. Raises WrongValue."""
        where = f"publish {view}"
        if layout not in get_args(Layout):
            raise WrongValue("no such layout", where=where, got=layout, possible=get_args(Layout))
        text = os.fspath(path)
        if not isinstance(text, str) or not text or "\0" in text:
            raise WrongValue("not a path", where=where, wanted="a path or a URL", got=type(text).__name__)
        chosen: Layout = "shredded" if layout == "shredded" else "nested"
        return cls(view, _absolute(text), chosen)

    def to_json(self) -> str:
        """As it is stored with the state. Law: Target.from_json(target.to_json()) = target."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Target":
        """Raises CorruptState for a text that is not the JSON of a target."""
        try:
            return JSON.structure(json.loads(text), cls)
        except (ValueError, TypeError, BaseValidationError) as error:
            raise CorruptState("not the text of a publication", got=ascii(text)[:200]) from error

    def folder(self, name: str) -> str:
        """The table ``name`` of several below the target."""
        return f"{self.path.rstrip('/')}/{name}"


def _absolute(path: str) -> str:
    url = urlsplit(path)
    if url.scheme == "file":
        return os.path.abspath(unquote(url.path))
    return path if "://" in path else os.path.abspath(path)


def folder_name(site: str) -> str:
    """The folder of the dictionary of ``site``: letters and digits of its name, and a digest that tells it apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", site.lower()).strip("-")[:LONGEST]
    return f"{plain}-{digest(site)[:8]}"


def make_folder(uri: str, where: str, more: Collection[str] = ()) -> None:
    """Make the folder of new tables, for its owner only. Raises StateError for a folder with anything in it but
    ``more`` and what an interrupted first publication left."""
    if "://" in uri:
        return
    path = Path(uri)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = sorted(e.name for e in path.iterdir() if not (OWN.fullmatch(e.name) or e.name in more))
    if others:
        what = "the folder is not empty, and no Delta table"
        raise StateError(what, where=where, got=others[0], possible=["an empty or a new folder"])
