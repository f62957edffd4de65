"""Names that are ours: what the tables of maps and arrays are called, and no relation or view can be.

All that a state stores lies in tables that are told apart by name alone: stored parts (``R``, ``R.orders``), flat
parts of views (``v``), dictionaries and domains of sites (``v/D[v.ys]``, ``v/Dom[v.ys]``), auxiliary maps, groups
and joins (``M/0123456789abcdef``, ``G/…``, ``J/…``, ``O/…``, ``T/…``, shared by views) and arrays
(``R.orders/arrays``). Parts and flat parts are called as users say; every other table has a name of a shape that these
cannot have. So a map never meets a relation, and two maps meet only when they are the same: ``v`` has no ``/D[``, so
the first one in ``v/D[ι]`` says where ``v`` ends.

Names are ours or theirs. All that a state stores lies in tables that are told apart by name. Parts of relations and
flat parts of views are called as users say; every other table (``v/D[ι]``, ``v/Dom[ι]``, ``M/…``,
``R.orders/arrays``) has a name that these cannot have (``nrc/reserved.py``). A state from before that opens; one in
which a map and a relation did meet is refused.
"""

import re

from ripplenest.nrc.errors import NameTaken

SHARED = r"[A-Z]/[0-9a-f]{16}"  # as the grammar has it, too
_SHARED = re.compile(SHARED)
# Any capital letter and any word: kinds of maps that are to come are reserved with those that there are.
_OURS = re.compile(r"[A-Z]/.*|.*/\w+\[.*|.*/arrays", re.DOTALL)
TAKEN = "the name is one of a stored map"
POSSIBLE = ("a name that does not begin like M/, hold a part like /D[, or end with /arrays",)


def of_a_map(name: str) -> bool:
    """Whether ``name`` is one that only maps and arrays have."""
    return _OURS.fullmatch(name) is not None


def is_shared(name: str) -> bool:
    """Whether ``name`` is that of a map of no view in particular, which is called by what it is."""
    return _SHARED.fullmatch(name) is not None


def is_joined(name: str) -> bool:
    """Whether ``name`` is that of a map of joined rows, which views share."""
    return is_shared(name) and name.startswith("J/")


def check_free_of_maps(name: str, where: str) -> None:
    """Raises NameTaken for the name of a relation, stored part or view that a map could have."""
    if of_a_map(name):
        raise NameTaken(TAKEN, where=where, got=name, possible=POSSIBLE)
