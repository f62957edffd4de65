"""Groups as both surfaces make them. An aggregate in a head or a condition is one value: it is bound by a ``for`` over
the one row of φ, as an inner bag is by one over sng_ι."""

from collections.abc import Sequence

from ripplenest.nrc import folds
from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.surface.readings import BagTerm, Bind, Element
from ripplenest.nrc.syntax import Fold, Group, Proj, Var
from ripplenest.nrc.types import Bag, Base, Record
from ripplenest.nrc.walk import Names

VALUE = "value"  # what the one fold of such a row is called


def fold(name: str, fn: str, args: Sequence[Element]) -> Fold:
    """fn(t₁, …) as the column ``name``. Raises UnknownName, and TypeMismatch for what ``fn`` does not take."""
    types = []
    for a in args:
        if not isinstance(a.type, Base):
            raise TypeMismatch(f"{fn} takes base values", wanted="a base value", got=a.type)
        types.append(a.type)
    return Fold(name, fn, tuple(_plain(a).elem for a in args), folds.result_type(fn, types))


def grouped(
    site: str, var: str, bag: BagTerm, keys: Sequence[tuple[str, Element]] | None, made: Sequence[Fold]
) -> BagTerm:
    """γ or, without ``keys``, φ over the rows ``var`` of ``bag``."""
    own = None if keys is None else tuple((name, _plain(e).elem) for name, e in keys)
    row = Record((*((name, e.type) for name, e in keys or ()), *((f.name, f.type) for f in made)))
    return BagTerm(Group(site, var, bag.expr, own, tuple(made)), Bag(row))


def folded(fn: str, bag: BagTerm, site: str, names: Names) -> Element:
    """What ``fn`` makes of the rows of ``bag``, which are base values; a count takes rows of any kind."""
    var = names.fresh("x")
    args = [] if fn == "count" else [Element(Var(var), bag.type.row)]
    made = fold(VALUE, fn, args)
    one = grouped(site, var, bag, None, [made])
    name = names.fresh("s")
    return Element(Proj(Var(name), VALUE), made.type, (Bind("for", name, one.expr),))


def _plain(e: Element) -> Element:
    """A key or an argument, which is worked out for each row by itself."""
    if e.binds:
        raise Unsupported("a key or an argument of a fold holds no bag", possible=["a bag of rows that have it"])
    return e
