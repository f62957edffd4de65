"""Views of windows of rows that are joined, or are groups, at some depth: what they come to up to each of them."""

from collections.abc import Sequence

from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.types import LONG, Bag, Base, Record
from support.choices import Choices
from support.schemas import Schema
from support.strategies import Case, case_of

MAYBE = Base("long", True)
SCHEMA = Schema(
    (
        ("C", Record((("id", LONG), ("g", MAYBE), ("w", LONG)))),
        ("O", Record((("c", LONG), ("at", LONG), ("n", MAYBE), ("xs", Bag(Record((("q", LONG),))))))),
    )
)
NAMES = Environment(dict(SCHEMA.relations))


def joined_case(c: Choices, batches: int = 3) -> Case:
    return case_of(c, SCHEMA, parse_expr(Views(c).view(), NAMES), batches)


class Views:
    """Terms over rows that are joined, of which windows are asked for, at some depth."""

    def __init__(self, c: Choices) -> None:
        self.c, self.sites = c, 0

    def site(self) -> str:
        self.sites += 1
        return f"s{self.sites}"

    def total(self) -> str:
        fold = self.c.pick(("sum(x.n)", "count()", "max(x.n)", "sum(x.at)"))
        more = self.c.pick(("", "", " where x.at > 0"))
        rows = f"for x in O where x.c = c.id{more} union sng(x)"
        return f"for t in fold[{self.site()}](x in ({rows}) of v: {fold}) union "

    def rows(self) -> str:
        """⟨id, g, a, b⟩, of several sources, or groups."""
        kept = self.c.pick(("", "", "where c.w > 0 "))
        both, total = f"for c in C {kept}union for o in O where o.c = c.id union ", self.total()
        beside = "for c in C where c.id = k.c union "
        other = "for o in O where o.at > 0 union sng(⟨id: o.c, g: o.n, a: o.n, b: o.at⟩)"
        return self.c.pick(
            (
                f"for c in C {kept}union {total}sng(⟨id: c.id, g: c.g, a: t.v, b: c.w⟩)",
                f"for c in C {kept}union {total}sng(⟨id: c.id, g: c.w, a: c.g, b: t.v⟩)",
                f"for c in C {kept}union {total}sng(⟨id: c.id, g: c.g, a: t.v + c.w, b: c.w⟩)",
                f"{both}sng(⟨id: o.at, g: c.g, a: o.n, b: c.w⟩)",
                f"{both}{total}sng(⟨id: o.at, g: c.g, a: t.v, b: o.n⟩)",
                f"{both}for q in flatten(sng(o.xs)) union sng(⟨id: o.at, g: c.g, a: q.q, b: c.w⟩)",
                f"for c in C union {self.total()}sng(⟨id: c.id, g: t.v, a: c.w, b: c.g⟩)",
                f"((for c in C {kept}union sng(⟨id: c.id, g: c.g, a: c.g, b: c.w⟩)) + ({other}))",
                f"(({both}sng(⟨id: o.at, g: c.g, a: o.n, b: c.w⟩)) + ({other}))",
                f"for k in {self.groups()} union sng(⟨id: k.c, g: k.c, a: k.n, b: k.n⟩)",
                f"for k in {self.groups()} union {beside}sng(⟨id: c.w, g: c.g, a: k.n, b: k.n⟩)",
            )
        )

    def groups(self) -> str:
        """⟨c, n⟩, each once."""
        by = self.c.pick(("c: x.c, n: x.n", "c: x.c, n: x.at", "c: x.c of n: count()", "c: x.c of n: sum(x.n)"))
        return f"group[{self.site()}](x in O by {by})"

    def window(self, source: str, s: str, fields: Sequence[str]) -> str:
        """What rows of ``source`` up to ``s``, or from it on, come to."""
        x, at = f"y{s}", self.c.pick(fields)
        own, edge = f"{x}.{at}", f"{s}.{at}"
        if self.c.one_in(4):
            own, edge = f"to_double({own})", f"to_double({edge})"
        elif self.c.one_in(6):  # which has no value for some rows
            own = f"6 / {own}"
        op, of = self.c.pick(("<", "<=", ">", ">=", "=")), self.c.pick(fields)
        conditions = [f"{own} {op} {edge}", *self.c.pick(([], [f"{x}.g = {s}.g"], [f"{x}.g <=> {s}.g"]))]
        where = " and ".join(conditions[:: self.c.pick((1, -1))])
        rows = f"(for {x} in {source} where {where} union sng({x}))"
        if self.c.one_in(5):  # how many different ones
            return f"fold[{self.site()}](z in group[{self.site()}](z in {rows} by v: z.{of}) of v: count())"
        fold = self.c.pick(("count()", f"sum(z.{of})", "count()", f"max(z.{of})", f"avg(z.{of})"))
        return f"fold[{self.site()}](z in {rows} of v: {fold})"

    def first(self, source: str, s: str, fields: Sequence[str]) -> str:
        """The same, or a value of the next row, which is NULL where there is none."""
        if not self.c.one_in(5):
            return self.window(source, s, fields)
        return f"fold[{self.site()}](z in (for y in {source} where y.a > {s}.a union sng(y)) of v: min(z.a))"

    def some(self, source: str) -> str:
        """Whether there is some row up to ``s``, or beyond it, or none, if it is asked."""
        if not self.c.one_in(4):
            return ""
        more, op = self.c.pick(("", " and y.g = s.g", " and y.b > 0")), self.c.pick(("<", "<=", ">", ">="))
        rows = f"for y in {source} where y.a {op} s.a{more} union sng(y)"
        says = self.c.pick(("n.v", "not n.v", "not n.v"))
        return f"for n in fold[{self.site()}](z in ({rows}) of v: any()) union for _ in p({says}) union "

    def view(self) -> str:
        fields = ("id", "a", "a", "b")
        named, window = f"let X := {self.rows()} in ", self.first("X", "s", fields)
        some = self.some("X")
        asked, ranked = f"for s in X union {some}for r in {window} union ", "⟨id: s.id, g: s.g, a: r.v, b: s.b⟩"
        match self.c.number(7):
            case 0:  # windows of windows
                above = f"for p in {self.window('Y', 'u', 'ab')} union sng(⟨id: u.id, v: p.v⟩)"
                return f"{named}let Y := {asked}sng({ranked}) in for u in Y union {above}"
            case 1:
                below = f"for r in {self.first('X', 'u', fields)} union sng(⟨id: u.id, v: r.v⟩)"
                inner = f"for u in X where u.g = c.g union {below}"
                return f"{named}for c in C union sng(⟨w: c.w, in: sng[{self.site()}]({inner})⟩)"
            case 2:  # of other rows than those that ask
                asking = "for c in C union for o in O where o.c = c.id union sng(⟨id: c.id, g: c.g, a: o.n, b: c.w⟩)"
                return f"{named}let Z := {asking} in for s in Z union for r in {window} union sng({ranked})"
            case 3:  # of rows of groups
                groups, bag = f"for k in group[{self.site()}](x in X by g: x.g) union ", "flatten(sng(b))"
                rows = f"for b in sng[{self.site()}](for x in X where x.g <=> k.g union sng(x)) union "
                some, window = self.some(bag) or self.some(bag), self.first(bag, "s", fields)
                below = f"for s in {bag} union {some}for r in {window} union sng(⟨id: s.id, v: r.v⟩)"
                return f"{named}{groups}{rows}sng(⟨g: k.g, in: sng[{self.site()}]({below})⟩)"
            case _:
                return f"{named}{asked}sng({ranked})"
