"""The folds that are written as functions of a bag, f(e) and f(t | x in e, p): sugar that is never printed."""

from ripplenest.nrc.functions import folds
from ripplenest.nrc.surface import aggregates
from ripplenest.nrc.surface.readings import BagTerm, Reading
from ripplenest.nrc.surface.text.scope import Scope
from ripplenest.nrc.types import Base

DISTINCT, EXISTS, COUNT = "distinct", "exists", "count"
NAMES = (*folds.FOLDS, DISTINCT, EXISTS)


def aggregate(word: str, bag: BagTerm, listed: bool, scope: Scope) -> Reading:
    """What the function called ``word``, one of NAMES, makes of a bag: count(e) is how many rows there are, and where
    values are ``listed``, count(t | x in e), how many of these are not NULL."""
    place = scope.site, scope.session.names
    if word == DISTINCT:
        return aggregates.distinct(bag, *place)
    if word == EXISTS:
        return aggregates.folded("any", bag, False, *place)
    of_values = word != COUNT or (listed and isinstance(bag.type.row, Base))
    return aggregates.folded(word, bag, of_values, *place)
