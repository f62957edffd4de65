"""What a version is to those who read it: tables of weighted rows, as they were at one moment.

Four notions, each with all that the one before it has. ``Readable`` tables can be scanned and probed, ``Tables`` are
what statements need; of ``Sized`` tables the sizes are known; a ``Version`` also says which it is, by which columns its
tables can be probed, and how they came to be so.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Ordering, Within
from ripplenest.data.rows import Rows
from ripplenest.store.specs import Columns

AccessKeys = Mapping[str, tuple[Columns, ...]]  # by table, the columns that ``probe`` finds rows by
Orders = Mapping[str, tuple[Ordering, ...]]  # by table, those in which ``first`` and ``within`` read its rows
AsOf = int | tuple[str, int]  # a version, or the batch (source, seq) that made it


class Readable(Protocol):
    """Rows by table."""

    def scan(self, table: str) -> Rows:
        """Every row of ``table``."""

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows whose ``columns`` equal one of ``keys``; NULL equals NULL."""


class Tables(Readable, Protocol):
    """Stored rows by table."""

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:
        """By key, about how many rows ``probe`` finds: of segments, how many entries have its hash. No row is read."""

    def first(self, table: str, asked: Firsts) -> First:
        """The first rows of keys among those of ``table``."""

    def within(self, table: str, *asked: Within) -> Rows | None:
        """The rows of ``table`` between values, and perhaps some others, as one of those that are ``asked`` has it: the
        one that finds the fewest. None where it is stored in none of their orders."""


class Sized(Tables, Protocol):
    """Tables whose sizes are known without reading them."""

    def size(self, table: str) -> int:
        """At least the number of different rows of ``table``; 0 only when there are none."""


class Version(Sized, Protocol):
    """The tables at ``version``."""

    @property
    def version(self) -> int: ...

    @property
    def access_keys(self) -> AccessKeys:
        """What can be probed at this version: never what came later."""

    def some(self, table: str, most: int) -> Rows:
        """At least ``most`` different rows of ``table``, or all, each as often as it is there."""

    def delta(self, table: str, since: int) -> Rows:
        """The changes of ``table`` in the versions (since, version]. Law: scan(since) ⊎ delta(since) = scan."""


Versions = Callable[[AsOf | None], Version]
