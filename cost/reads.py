"""How a product reads its generators, told from its terms: the order of ``ripplenest/plan/access.py``, before columns.

Changes are read first; then the generator with most columns equated with one that is read already; then those equated
with constants only; what nothing is equated with is scanned. A disjunction of joins is read as disjoint joins first.
Law: the order, the kind of each reading and its columns are those of the plans that the product becomes.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Literal

from attrs import evolve, frozen

from ripplenest.nrc.normal import Comprehension, conjuncts, is_total
from ripplenest.nrc.pretty import show_elem
from ripplenest.nrc.syntax import At, Call, Elem, IsSite, OutL, Proj, Rel, Var, input_site
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import UNIT, Label, Type, nullable
from ripplenest.nrc.walk import free_vars

How = Literal["change", "probe", "scan"]


@frozen
class Equation:
    """``var.column`` equals a value that reads ``others``; ``usable``: it is a column, of the value's own type.

    ``partner``: the generator and column that the value is, when it is one. ``constant``: it is the same in every
    batch. ``condition`` is what says so.
    """

    var: str
    column: str
    others: frozenset[str]
    usable: bool
    condition: Elem
    partner: tuple[str, str] | None = None
    constant: bool = False


@frozen
class Read:
    """One generator: ``keys`` are looked up with the values of ``via``, or with constants when there is no ``via``.

    ``equated`` are all equations with constants or with what is read before, one a column; some cannot be looked up.
    """

    var: str
    rel: Rel
    keys: tuple[Equation, ...] = ()
    via: str | None = None
    equated: tuple[Equation, ...] = ()

    @property
    def how(self) -> How:
        return "change" if self.rel.at is At.DELTA else "probe" if self.keys else "scan"

    @property
    def grows(self) -> bool:
        """Whether more is read when the table grows, whatever changes: it is scanned, or looked up by constants alone.

        A table without columns does not: all of its rows are one.
        """
        by_change = self.how == "change" or any(not e.constant for e in self.keys)
        return not by_change and self.rel.row != UNIT


@frozen(slots=False)
class Join:
    """One of the disjoint joins of a product, with the types of its ``free`` variables (a dictionary's label)."""

    product: Comprehension
    free: Mapping[str, Type]

    @cached_property
    def types(self) -> dict[str, Type]:
        """Π of the conditions."""
        return {**self.free, **self.product.variables()}

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """What the conditions equate, each equality from both of its sides."""
        return tuple(e for cond in self.product.conditions for e in self._equations(cond))

    def reads(self) -> tuple[Read, ...]:
        """The generators in the order in which they are read."""
        found = [Read(var, rel) for var, rel in self.product.generators if rel.at is At.DELTA]
        left = [(var, rel) for var, rel in self.product.generators if rel.at is not At.DELTA]
        while left:
            seen = [r.var for r in found]
            steps = [self._best(var, rel, seen) for var, rel in left]
            step = max(steps, key=lambda r: (r.via is not None, len(r.keys)))
            found.append(step)
            left.remove((step.var, step.rel))
        return tuple(found)

    def sources(self, t: Elem) -> frozenset[str]:
        """The generators that ``t`` reads."""
        return free_vars(t) & self.product.variables().keys()

    def _best(self, var: str, rel: Rel, seen: list[str]) -> Read:
        equated = _by_column(e for e in self.equations if e.var == var and e.others <= set(seen))
        probes = [Read(var, rel, self._keys(var, frozenset((via,))), via, equated) for via in seen]
        constant = Read(var, rel, self._keys(var, frozenset()), None, equated)
        return max((r for r in probes if r.keys), key=lambda r: len(r.keys), default=constant)

    def _keys(self, var: str, others: frozenset[str]) -> tuple[Equation, ...]:
        return _by_column(e for e in self.equations if e.usable and e.var == var and e.others == others)

    def _equations(self, cond: Elem) -> Iterator[Equation]:
        match cond:
            case Call("eq" | "same", (a, b)):
                for own, other in ((a, b), (b, a)):
                    sources = self.sources(own)
                    if len(sources) == 1 and not sources & self.sources(other):
                        yield self._equation(own, other, min(sources), cond)
            case IsSite(label, site):  # the column that says which site made the label
                kind, column, sources = elem_type(label, self.types), column_of(label), self.sources(label)
                if isinstance(kind, Label) and len(kind.sites) > 1 and kind.site(site) and column and len(sources) == 1:
                    yield Equation(min(sources), f"{column}.site", frozenset(), True, cond, constant=True)

    def _equation(self, own: Elem, other: Elem, var: str, cond: Elem) -> Equation:
        column, others = column_of(own), self.sources(other)
        if column is None:
            return Equation(var, show_elem(own), others, False, cond)
        alike = nullable(elem_type(own, self.types)) == nullable(elem_type(other, self.types))
        partner = column_of(other)
        known = (min(others), partner) if others and partner else None
        return Equation(var, column, others, alike, cond, known, not free_vars(other))


def _by_column(found: Iterable[Equation]) -> tuple[Equation, ...]:
    return tuple({e.column: e for e in reversed(tuple(found))}.values())[::-1]


def joins(c: Comprehension, free: Mapping[str, Type] | None = None) -> Iterator[Join]:
    """``c`` as joins that do not overlap: a disjunction of equalities between generators is split.

    ``[p ∧ (c₁ ∨ c₂)] = [p ∧ c₁] ⊎ [p ∧ c₂ ∧ (c₁ is not true)]``, as in ``ripplenest/plan/disjoint.py``.
    """
    names = c.variables().keys()
    for i, cond in enumerate(c.conditions):
        branches = tuple(disjuncts(cond))
        safe = all(is_total(b, Join(c, free or {}).types) for b in branches[1:])
        if len(branches) > 1 and safe and all(any(is_join(t, names) for t in conjuncts(b)) for b in branches):
            before, after = c.conditions[:i], c.conditions[i + 1 :]
            for n, branch in enumerate(branches):
                earlier = tuple(Call("not", (Call("is_true", (b,)),)) for b in branches[:n])
                yield from joins(evolve(c, conditions=(*before, *conjuncts(branch), *after, *earlier)), free)
            return
    yield Join(c, free or {})


def is_join(t: Elem, names: Set[str]) -> bool:
    """True for ``column = value`` between different generators ``names``."""
    match t:
        case Call("eq" | "same", (left, right)):
            a, b = free_vars(left) & names, free_vars(right) & names
            return bool(a and b) and not a & b and (column_of(left) is not None or column_of(right) is not None)
        case _:
            return False


def disjuncts(t: Elem) -> Iterator[Elem]:
    """c₁, …, cₙ of c₁ or … or cₙ."""
    match t:
        case Call("or", args):
            for a in args:
                yield from disjuncts(a)
        case _:
            yield t


def column_of(t: Elem) -> str | None:
    """The path of a stored column from its generator's row: ``gen``, ``row.qty``, ``label``; None for computed values.

    A stored label is one column under its own path; of labels that views make, each parameter is one. A row that is no
    record is called ``value``.
    """
    match t:
        case Var():
            return "value"
        case Proj(of, name):
            outer = column_of(of)
            return None if outer is None else name if isinstance(of, Var) else f"{outer}.{name}"
        case OutL(of, site, param):
            outer = column_of(of)
            return outer if outer is None or site == input_site(site.name) else f"{outer}.{site.name}.{param}"
        case _:
            return None
