"""What is found by its name is called so alone: parts, views, sites, and what each is called when it changes."""

from collections.abc import Collection

from ripplenest.cost.interpret import lookup_key
from ripplenest.nrc.errors import NameTaken, QueryError
from ripplenest.nrc.syntax import At, Group, Query, SngBag, Top
from ripplenest.nrc.walk import nodes
from ripplenest.shred.contexts import stored_parts


def check_names(query: Query) -> None:
    """Each ι is made in one place, and is no stored part: definitions are found by the names of sites, and maps by that
    of the view. A stored part is of one relation, and is not called like another after a batch, or its change."""
    taken: set[str] = set()
    for name, row in query.relations:
        for part in stored_parts(name, row):
            if part in taken:
                what = "a relation has the name of inner bags of another that the view reads"
                raise NameTaken(what, where=f"view {query.name}", got=part, possible=["another name"])
            taken.add(part)
    if query.name in taken:
        what = "the view has the name of a relation, or of inner bags, that it reads"
        raise NameTaken(what, where=f"view {query.name}", possible=["another name"])
    _check_versions(query.name, taken)
    for node in nodes(query.body):
        if isinstance(node, SngBag | Group | Top):
            if node.site in taken:
                what = "the site of an inner bag or group has a name of its own"
                raise QueryError(what, where=query.name, got=node.site)
            taken.add(node.site)


def _check_versions(view: str, parts: Collection[str]) -> None:
    """R, ΔR, ΔʹR, R⁺ and R(l) of all that a program reads have names of their own."""
    known: dict[str, str] = {}
    for name in (*sorted(parts), view):
        for key in (*(at.show(name) for at in At), At.DELTA.show(name, 2), lookup_key(name)):
            if known.setdefault(key, name) != name:
                what = "the view reads two names, of which one is what the other is called in terms"
                wanted = f"another name than {known[key]!r}, as {key} is of both"
                raise NameTaken(what, where=f"view {view}", wanted=wanted, got=name, possible=["another name"])
