"""Where inner bags are stored, and what identifies the rows that hold them: what labels are made of.

The label of an inner bag is the key of its place: the keys of the rows around it, from the outside in. A row without a
key is identified by a number, and then nothing around it needs to be named. So the label of a bag lasts as long as the
keys do, whatever else changes in the rows, and can be computed by who knows the keys.
"""

from attrs import evolve, frozen

from ripplenest.nrc.syntax import Keys
from ripplenest.nrc.types import NUMBERED, Bag, Params, Record, Site, Type
from ripplenest.nrc.walk import Names


def child_path(path: str, name: str) -> str:
    """The name of the part below ``path``: ``Customers.orders.items``. Rows of a bag of bags are called ``[]``."""
    return f"{path}.{name}"


@frozen
class Place:
    """A field, or the rows, of a stored ``part``: its ``path``, and the ``identity`` of the row that has it. For rows
    with a ``key``, that is the key at the end of what identifies their bag."""

    part: str
    path: str
    identity: Params
    keys: Keys
    key: tuple[str, ...] = ()
    without_key: Params = NUMBERED

    @staticmethod
    def of(relation: str, row: Type, keys: Keys, without_key: Params = NUMBERED) -> "Place":
        """The rows of a relation; ``without_key`` is what identifies those that have no key."""
        return Place(relation, relation, (), keys, without_key=without_key).rows(row)

    @property
    def site(self) -> Site:
        """The labels of the bag that is here."""
        return Site(self.path, self.identity)

    def field(self, name: str) -> "Place":
        """A field of the record that is here."""
        path = child_path(self.path, name)
        return Place(self.part, path, self.identity, self.keys, self.key, self.without_key)

    def rows(self, row: Type) -> "Place":
        """The rows, of type ``row``, of the bag that is here. Law: identities of different rows differ, if keys do."""
        key = dict(self.keys).get(self.path, ())
        if not isinstance(row, Record) or not key:
            path = child_path(self.path, "[]") if isinstance(row, Bag) else self.path
            return evolve(self, part=self.path, path=path, identity=self.without_key, key=())
        names, fields = Names(frozenset(name for name, _ in self.identity)), dict(row.fields)
        own = tuple((names.fresh(name), fields[name]) for name in key)
        return evolve(self, part=self.path, identity=(*self.identity, *own), key=key)
