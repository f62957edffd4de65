"""What a program calls its tables, for people, and which of them are one row, or do not grow."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from ripplenest.cost.moving import told
from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.access import Join, Read, of_nothing
from ripplenest.nrc.rewriting.normal import folded
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import At, Call, Elem, Lit, Rel, Total, Tuple
from ripplenest.nrc.types import BOOL
from ripplenest.nrc.walk import free_vars


@frozen(slots=False)
class Called:
    """What messages call the tables that a view does not name: a domain ↦ the inner bag whose labels it holds, or in
    ``asked`` the group that is asked for them, an auxiliary map ↦ what it is made of, a group ↦ what it answers.
    ``ones``: the groups that are one value for all rows. ``variables``: the names that the query itself has, in order.
    ``unique``: by stored part, the columns by which a row is the only one. ``shown``: by group, what its columns are.
    ``fixed``: the maps that do not grow: made of constants, or the first rows of all.
    """

    bags: Mapping[str, str] = field(factory=dict)
    asked: Mapping[str, str] = field(factory=dict)
    kept: Mapping[str, str] = field(factory=dict)
    groups: Mapping[str, str] = field(factory=dict)
    ones: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    unique: Mapping[str, frozenset[str]] = field(factory=dict)
    shown: Mapping[str, Mapping[str, Elem]] = field(factory=dict)
    fixed: frozenset[str] = frozenset()

    @cached_property
    def answers(self) -> frozenset[str]:
        """What groups answer, as it is called."""
        every = (t for columns in self.shown.values() for t in columns.values())
        return frozenset(self.groups.values()).union(*map(free_vars, every))

    def grows(self, r: Read, j: Join, order: Sequence[Read]) -> bool:
        """Whether more is read there when its table grows. Constants that are the key of a row find this one; and what
        is read from a value of it on, is when the value moves what lies between, as it is between two ends: if no other
        value of that row drops what is read."""
        if not r.grows or r.rel.name in self.fixed:
            return False
        return not (self.is_one(r) or told(r, j, order, self.moves) or self.of_nothing(j))

    def of_nothing(self, j: Join) -> bool:
        """Whether it is asked for what changes when a value that moves becomes NULL, or is one again: the last row
        that it is of goes, or the first one comes, and what is compared with it is another answer for all that is. Or
        when it passes what totals answer of nothing, which is another answer for all of these."""
        return self._is_absent(j) or bool(self.passes(j))

    def _is_absent(self, j: Join) -> bool:
        ones = {v for v, rel in j.product.generators if rel.at is At.DELTA and self._moves(v, rel, j)}
        absent = (t.args for t in j.product.conditions if isinstance(t, Call) and t.fn == "is_null")
        return any(column_of(t) is not None and free_vars(t) <= ones for (t,) in absent)

    def passes(self, j: Join) -> tuple[Elem, ...]:
        """What is asked of a value that moves alone, beside totals that answer nothing, if that is all that the product
        reads of it: so it reads nothing else until it becomes true, or is no more."""
        moving = [v for v, rel in j.product.generators if rel.at is At.DELTA and self._moves(v, rel, j)]
        told = [t for t in j.product.conditions if j.sources(t) & {*moving} and not _says_which(t, j)]
        made = j.sources(Tuple(tuple((str(i), t) for i, t in enumerate((j.product.head, *j.product.times)))))
        alone = all(j.sources(t) <= {*moving} for t in told) and not made & {*moving}
        totals = ((v, rel) for v, rel in j.product.generators if isinstance(rel, Total) and rel.at is not At.DELTA)
        return tuple(told) if alone and any(_is_of_nothing(v, rel, j) for v, rel in totals) else ()

    def _moves(self, var: str, rel: Rel, j: Join) -> bool:
        key = self.unique.get(rel.name)
        known = {e.column for e in j.equations if e.var == var and e.constant}
        return rel.name in self.ones or (key is not None and {*()} < key <= known)

    def moves(self, r: Read) -> bool:
        """Whether it is one row, whose values move: constants say which, or it is one value for all rows."""
        return self.is_one(r) or r.rel.name in self.ones

    def is_one(self, r: Read) -> bool:
        """Whether constants say which row it is."""
        key = self.unique.get(r.rel.name)
        return key is not None and {*()} < key <= {e.column for e in r.equated if e.constant}

    def finds_one(self, r: Read) -> bool:
        """Whether a key finds one row: of those that are the only ones, or of a place."""
        key = self.unique.get(r.rel.name)
        return r.place is not None or (key is not None and {*()} < key <= {e.column for e in r.keys})

    def place(self, rel: Rel) -> str | None:
        """What a row of a domain stands for; None of another table."""
        if rel.name in self.bags:
            return f"inner bag {self.bags[rel.name]}"
        return f"row for which {self.asked[rel.name]} is computed" if rel.name in self.asked else None


def _is_of_nothing(var: str, rel: Total, j: Join) -> bool:
    """Whether something is asked of that fold alone which is true where it answers nothing."""
    asked = (t for t in j.product.conditions if j.sources(t) == {var})
    return any(folded(simplify_elem(of_nothing(t, var, rel))) == Lit(True, BOOL) for t in asked)


def _says_which(t: Elem, j: Join) -> bool:
    """Whether constants say by it which row is read."""
    return any(e.condition == t and e.constant for e in j.equations)
