"""Views that compare totals: with those of all rows, with those of other rows, and with rows; as conditions, as values,
in inner bags and of groups, nested at random. They are written in the text language, from which its reader makes terms.
"""

from attrs import define

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.surface.text import Environment, parse_expr
from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.walk import Names, at_sites
from support.choices import Choices
from support.schemas import Schema
from support.strategies import Case, case_of
from support.timed import OPS, timed_schema


@define
class _Compared:
    """A view in the making."""

    c: Choices
    schema: Schema
    made: int = 0

    def relation(self) -> str:
        return self.c.pick([name for name, _ in self.schema.relations])

    def fresh(self) -> str:
        self.made += 1
        return f"x{self.made}"

    def view(self) -> str:
        if self.c.one_in(4):
            return self.groups()
        x = self.fresh()
        sources, conditions = [f"{x} in {self.relation()}"], []
        rows = [x]
        if self.c.one_in(4):
            rows.append(self.fresh())
            sources.append(f"{rows[1]} in {self.relation()}")
            conditions.append(f"{rows[1]}.{self.c.pick(('u', 'n'))} = {x}.u")
        conditions += [self.comparison(rows) for _ in range(self.c.number(3))]
        return f"[ {self.head(rows)} | {', '.join([*sources, *conditions])} ]"

    def head(self, rows: list[str]) -> str:
        fields = [f"a: {rows[0]}.{self.c.pick(('u', 'n', 'at'))}"]
        if self.c.one_in(2):
            fields.append(f"b: {self.comparison(rows)}")
        if self.c.one_in(3):
            fields.append(f"c: if({self.comparison(rows)}, 1, 2)")
        if self.c.one_in(3):
            y = self.fresh()
            source = self.c.pick((f"{y} in {rows[0]}.below", f"{y} in {self.relation()}, {y}.u = {rows[0]}.u"))
            fields.append(f"d: [ ⟨v: {y}.n, w: {y}.wait⟩ | {source}, {self.comparison([y, rows[0]])} ]")
        return f"⟨{', '.join(fields)}⟩"

    def groups(self) -> str:
        """By a column, with what a group comes to, beside what all rows do."""
        x, r, g = self.fresh(), self.fresh(), self.fresh()
        rows = f"[ ⟨k: {x}.u, v: {x}.n⟩ | {x} in {self.relation()} ]"
        folds = f"n: count(), s: sum({r}.v), m: {self.c.pick(('max', 'avg'))}({r}.v)"
        group = f"group[w{x}]({r} in {rows} by k: {r}.k of {folds})"
        own = self.c.pick(("s", "s", "m", "n"))
        return f"[ ⟨k: {g}.k, s: {g}.s⟩ | {g} in {group}, {g}.{own} {self.c.pick(OPS)} {self.total(None)} ]"

    def comparison(self, rows: list[str]) -> str:
        """A total of a row, or a column of it, with another one, or with a total of all."""
        x = rows[0]
        own = self.c.pick((self.total(x), self.total(x), f"{x}.n", f"{x}.wait"))
        others = [self.total(None), self.total(None)]
        if own != f"{x}.n":
            others.append(f"{rows[-1]}.n")
        if len(rows) > 1:
            others.append(self.total(rows[1]))
        sides = own, self.c.pick(others)
        a, b = sides if self.c.one_in(2) else sides[::-1]
        return f"{a} {self.c.pick(OPS)} {b}"

    def total(self, of: str | None) -> str:
        """Of the rows that are joined with one, or in it, or of all; some of them have one though there are none."""
        y = self.fresh()
        source = f"{y} in {self.relation()}"
        if of is not None:
            source = self.c.pick((f"{source}, {y}.u = {of}.u", f"{source}, {y}.u = {of}.u", f"{y} in {of}.below"))
        elif self.c.one_in(3):
            source += f", {y}.n > 0"
        value = f"{y}.{self.c.pick(('n', 'n', 'wait'))}"
        found = f"{self.c.pick(('sum', 'sum', 'max', 'min', 'avg', 'count'))}([ {value} | {source} ])"
        return f"coalesce({found}, 0)" if self.c.one_in(5) and not found.startswith("avg") else found


def compared_query(c: Choices, schema: Schema) -> Expr:
    """A closed term."""
    names = Names(frozenset())
    while True:
        try:
            found = parse_expr(_Compared(c, schema).view(), Environment(relations=dict(schema.relations)))
            check_positive(found)
        except QueryError:
            continue
        return at_sites(found, lambda site: names.fresh(f"t.{site}"))


def compared_case(c: Choices, batches: int = 3) -> Case:
    schema = timed_schema(c)
    return case_of(c, schema, compared_query(c, schema), batches)
