"""Terms as texts that are equal for equal maps: all that decides what a map stores, and nothing else.

Fields are numbers, so that a map keeps its name when a field of a relation gets another one, or a relation a field.
"""

from collections.abc import Callable, Mapping, Set
from typing import assert_never

from attrs import field, frozen

from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, InL, IsSite, Lit, OutL, Proj, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.nrc.walk import rebuild_elem

Said = Callable[[Elem], str]  # a term as a text that tells it apart
EQUATIONS = frozenset({"eq", "ne", "same"})


def oriented(t: Elem, said: Said, commuting: Set[str] = EQUATIONS) -> Elem:
    """The arguments of functions whose order does not matter in one order: both sides of =."""
    t = rebuild_elem(t, lambda a: oriented(a, said, commuting))
    if isinstance(t, Call) and t.fn in commuting:
        return Call(t.fn, tuple(sorted(t.args, key=said)))
    return t


@frozen
class Text:
    """Products as texts that name nothing of a view: variables and fields by number, what is read as ``names`` say, and
    else as it is called."""

    names: Mapping[str, str] = field(factory=dict)

    def product(self, c: Comprehension) -> str:
        types, place = c.variables(), {var: i for i, (var, _) in enumerate(c.generators)}
        read = [(type(rel).__name__, self._name(rel.name), rel.at.name) for _, rel in c.generators]
        conditions = sorted(self.elem(t, types, place) for t in c.conditions)
        times = sorted(self.elem(t, types, place) for t in c.times)
        return repr((read, conditions, self.elem(c.head, types, place), c.weight, times))

    def elem(self, t: Elem, types: Mapping[str, Type], place: Mapping[str, object]) -> str:
        match t:
            case Var(name):
                return f"x{place[name]}"
            case Proj(of, name):
                row = elem_type(of, types)
                assert isinstance(row, Record)
                return f"{self.elem(of, types, place)}.{row.names.index(name)}"
            case Lit():
                return repr(t)
            case Call(fn, args):
                return f"{fn}{[self.elem(a, types, place) for a in args]}"
            case Tuple(fields):
                return f"{[self.elem(a, types, place) for _, a in fields]}"
            case InL(site, args):
                return f"in {self._name(site)}{[self.elem(a, types, place) for _, a in args]}"
            case OutL(label, site, param):
                number = [name for name, _ in site.params].index(param)
                return f"out {self._name(site.name)} {number} {self.elem(label, types, place)}"
            case IsSite(label, site_name):
                return f"is {self._name(site_name)} {self.elem(label, types, place)}"
            case _:
                assert_never(t)

    def type(self, t: Type) -> str:
        """The columns that a flat type has."""
        match t:
            case Base():
                return repr(t)
            case Record(fields):
                return f"{[self.type(inner) for _, inner in fields]}"
            case Label(sites, is_null):
                return f"{[(self._name(s.name), [self.type(p) for _, p in s.params]) for s in sites]}{is_null}"
            case Bag() | Dict():
                raise AssertionError(f"{t} is no type of columns")
            case _:
                assert_never(t)

    def _name(self, name: str) -> str:
        return self.names.get(name, name)
