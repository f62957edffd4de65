"""Folds as both surfaces have them: one value of a bag, bound by a ``for`` over the one row of φ."""

from ripplenest.nrc import folds
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.readings import BagTerm, Bind, Element
from ripplenest.nrc.syntax import Fold, Group, Proj, Var
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import Names

VALUE = "value"  # what the one fold of such a row is called


def folded(fn: str, bag: BagTerm, site: str, names: Names) -> Element:
    """What ``fn`` makes of the rows of ``bag``, which are base values; a count takes rows of any kind."""
    var, row = names.fresh("x"), bag.type.row
    if fn == "count":
        args: tuple[tuple[Var, Base], ...] = ()
    elif isinstance(row, Base):
        args = ((Var(var), row),)
    else:
        raise TypeMismatch(f"{fn} of rows that are no numbers", wanted="int, long or decimal", got=row)
    t = folds.result_type(fn, [t for _, t in args])
    group = Group(site, var, bag.expr, None, (Fold(VALUE, fn, tuple(a for a, _ in args), t),))
    name = names.fresh("s")
    return Element(Proj(Var(name), VALUE), t, (Bind("for", name, group),))
