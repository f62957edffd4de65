"""The context of a shredded view by name: which dictionary defines the labels of which inner bag."""

from collections.abc import Iterator
from typing import assert_never

from attrs import frozen

from ripplenest.nrc.printing.pretty import show_dict
from ripplenest.nrc.printing.text import path
from ripplenest.nrc.syntax import DictEmpty, DictExpr, DictLit, DictPlus, DictRel, DictUnion
from ripplenest.shred.contexts import BagContext, Context, NoContext, RecordContext


@frozen
class InnerBag:
    """One bag of the view's type: where it is in the rows around it, and the dictionary that defines its labels."""

    path: str
    dictionary: str
    inner: tuple["InnerBag", ...]


def inner_bags(c: Context, view: str, at: str = "") -> Iterator[InnerBag]:
    """The context tree A^Γ of the shredded view, one node for each bag."""
    match c:
        case BagContext(d, rows):
            yield InnerBag(at or "[]", dictionary_name(d, view), tuple(inner_bags(rows, view)))
        case RecordContext(fields):
            for name, context in fields:
                yield from inner_bags(context, view, f"{at}.{path(name)}" if at else path(name))
        case NoContext():
            return
        case _:
            assert_never(c)


def dictionary_name(d: DictExpr, view: str) -> str:
    """A dictionary by name; the definitions of sites are printed elsewhere."""
    match d:
        case DictLit(site):
            return f"{view}^Γ[{path(site.name)}]"
        case DictUnion(left, right):
            return f"{dictionary_name(left, view)} ∪ {dictionary_name(right, view)}"
        case DictPlus(left, right):
            return f"({dictionary_name(left, view)} ⊎ {dictionary_name(right, view)})"
        case DictRel() | DictEmpty():
            return show_dict(d)
        case _:
            assert_never(d)
