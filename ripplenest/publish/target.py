"""Where a view is published and how: what a database remembers of it, and the folders of its Delta tables."""

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from attrs import asdict, fields_dict, frozen

from ripplenest.data.naming import digest
from ripplenest.nrc.arguments import is_elsewhere, of_file_url, one_of, path_text, text
from ripplenest.nrc.errors import CorruptState, StateError, WrongValue

Layout = Literal["nested", "shredded"]
TABLE = re.compile(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?-[0-9a-f]{8}")  # as ``folder_name`` has it
OWN = re.compile(r"id_bucket=\d+|_delta_log|_change_data")  # what we write into the folder of a table
# Of URLs that deltalake knows; of any other it says that no table is there.
STORES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "hdfs", "viewfs", "lakefs")
MISREAD = "%[\\]^|"  # of local paths: deltalake writes tables there that it then does not find
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
        where = f"publish {text(view, 'publish: view')}"
        chosen: Layout = one_of(layout, get_args(Layout), "no such layout", where)
        return cls(view, _absolute(path_text(path, where, "a path or a URL"), where), chosen)

    def to_json(self) -> str:
        """As it is stored with the state. Law: Target.from_json(target.to_json()) = target."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Target":
        """Raises CorruptState for a text that is not the JSON of a target."""
        try:
            raw = json.loads(text)
        except ValueError:
            raw = None
        known = isinstance(raw, dict) and raw.keys() == fields_dict(cls).keys()
        if not known or not all(isinstance(v, str) for v in raw.values()) or raw["layout"] not in get_args(Layout):
            raise CorruptState("not the text of a publication", got=ascii(text)[:200])
        return cls(**raw)

    def folder(self, name: str) -> str:
        """The table ``name`` of several below the target."""
        return f"{self.path.rstrip('/')}/{name}"


def _absolute(path: str, where: str) -> str:
    """A path of this machine made absolute, or a URL of a store that deltalake knows, as it is. Raises WrongValue."""
    local = of_file_url(path, where) if path.lower().startswith("file:") else path
    remote = is_elsewhere(local)
    if remote:
        one_of(local.partition("://")[0].lower(), STORES, "deltalake knows no such URL", where)
    found = local if remote else os.path.abspath(local)
    bad = [c for c in found if not c.isprintable() or (c in MISREAD and not remote)]
    if bad:
        what = "a path that deltalake misreads"
        raise WrongValue(what, where=where, wanted=f"none of {MISREAD}, nothing unprintable", got=ascii("".join(bad)))
    return found


def folder_name(site: str) -> str:
    """The folder of the dictionary of ``site``: letters and digits of its name, and a digest that tells it apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", site.lower()).strip("-")[:LONGEST]
    return f"{plain}-{digest(site)[:8]}"


def former_tables(uri: str) -> tuple[str, ...]:
    """The tables in a folder of this machine that are called as those of dictionaries are: of sites, too, that the view
    has no longer, since it was replaced."""
    path = Path(uri)
    if "://" in uri or not path.is_dir():
        return ()
    return tuple(e.name for e in path.iterdir() if TABLE.fullmatch(e.name) and (e / "_delta_log").is_dir())


@contextmanager
def _usable(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError("the folder cannot be used", where=where, got=error.strerror) from error


def make_folder(uri: str, where: str, more: Collection[str] = ()) -> None:
    """Make the folder of new tables, for its owner only. Raises StateError when it cannot be made, and what
    ``check_folder`` raises."""
    check_folder(uri, where, more)
    if "://" not in uri:
        with _usable(where):
            Path(uri).mkdir(mode=0o700, parents=True, exist_ok=True)


def check_folder(uri: str, where: str, more: Collection[str] = ()) -> None:
    """Raises StateError for a folder with anything in it but ``more`` and what an interrupted first publication left.
    One that is not there yet will do."""
    path = Path(uri)
    with _usable(where):
        if "://" in uri or not path.exists():
            return
        found = sorted(entry.name for entry in path.iterdir())
    others = [name for name in found if not (OWN.fullmatch(name) or name in more)]
    if others:
        what = "the folder is not empty, and no Delta table"
        raise StateError(what, where=where, got=ascii(others[0]), possible=["an empty or a new folder"])
