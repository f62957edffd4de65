"""Views over time, as people write them: rows within a span of others, windows as keys, totals and inner bags of both,
nested at random. They are written in the text language, from which its reader makes terms."""

from collections.abc import Callable, Sequence

from attrs import define, field

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.surface.text import Environment, parse_expr
from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.types import INT, LONG, Bag, Base, Record, Type
from support.choices import Choices
from support.schemas import Schema
from support.strategies import Case, case_of

MINUTE, DAY = 60_000_000, 86_400_000_000
AT, ON = Base("timestamp"), Base("date")
OPS = ("<", "<=", ">", ">=")
SWAPPED = dict(zip(OPS, (">", ">=", "<", "<="), strict=True))
SPANS = (0, 0, 1, -1, 15, -15)  # by which values are moved: minutes, days or numbers
FIELDS = ("at", "day", "n", "wait")


def timed_schema(c: Choices) -> Schema:
    """1 or 2 relations of rows with a moment, a day and numbers, and an inner bag of such rows."""
    rows = [_row(c, Bag(_row(c))), _row(c, Bag(_row(c), c.one_in(4)))]
    return Schema(tuple(zip("RS", rows[: 1 + c.number(3)], strict=False)))


def _row(c: Choices, below: Type | None = None) -> Record:
    def may(t: Base) -> Base:
        return Base(t.kind, c.one_in(3))

    fields: list[tuple[str, Type]] = [("u", may(LONG)), ("at", may(AT)), ("day", may(ON)), ("n", may(LONG))]
    fields.append(("wait", may(INT)))
    return Record((*fields, *([("below", below)] if below else [])))


@define
class _Timed:
    """A view in the making: ``around`` are the rows of the generators that are open."""

    c: Choices
    schema: Schema
    made: int = 0
    around: list[tuple[str, Record]] = field(factory=list)

    def view(self, depth: int) -> str:
        """[head | x in R, y in S, conditions…], or the groups of it by a window."""
        return self.groups() if self.c.one_in(4) else self.bag(depth)

    def bag(self, depth: int) -> str:
        return self.inside(lambda: self.head(depth))

    def inside(self, head: Callable[[], str]) -> str:
        before = len(self.around)
        generators = [self.source() for _ in range(1 + self.c.one_in(3))]
        conditions = [found for i in range(before, len(self.around)) for found in self.conditions(i)]
        text = f"[ {head()} | {', '.join([*generators, *conditions])} ]"
        del self.around[before:]
        return text

    def source(self) -> str:
        """x in R, or in a bag of a row that is there."""
        self.made += 1
        bags = [(f"{x}.below", dict(row.fields)["below"]) for x, row in self.around if "below" in row.names]
        known = [*((name, Bag(row)) for name, row in self.schema.relations), *bags, *bags]
        text, bag = self.c.pick(known)
        assert isinstance(bag, Bag) and isinstance(bag.row, Record)
        self.around.append((f"x{self.made}", bag.row))
        return f"x{self.made} in {text}"

    def conditions(self, i: int) -> list[str]:
        """Of a row with one that is around it: keys and what it lies between; of the first one sometimes a constant."""
        own = self.around[i][0]
        if i == 0:
            return [f"{own}.n {self.c.pick(OPS)} 1"] if self.c.one_in(4) else []
        other = self.c.pick(self.around[:i])[0]
        keys = [f"{own}.u = {other}.u"] if not self.c.one_in(3) else []
        kind = self.c.pick(("at", "at", "day", "n"))
        match self.c.number(6):
            case 0 | 1:  # of one length, by which rows are found, or of any
                size = None if self.c.one_in(4) else self.c.number(2)
                return [f"{self.window(kind, own, size)} = {self.window(kind, other, size)}"]
            case 2:
                return [*keys, self.compared(kind, own, other, self.c.pick(OPS))]
            case _:  # from one value to another, either of which may be moved
                return [*keys, *(self.compared(kind, own, other, self.c.pick(ops)) for ops in (OPS[:2], OPS[2:]))]

    def compared(self, kind: str, own: str, other: str, op: str) -> str:
        if kind != "n" and self.c.one_in(3):
            return self.apart(kind, *self.c.pick(((own, other), (other, own))), op)
        a, b = self.moved(kind, own, SPANS), self.value(kind, other)
        return f"{a} {op} {b}" if self.c.one_in(2) else f"{b} {SWAPPED[op]} {a}"

    def apart(self, kind: str, a: str, b: str, op: str) -> str:
        """What lies between two moments or days."""
        micros = kind == "at"
        found = f"{'micros' if micros else 'days'}_between({a}.{kind}, {b}.{kind})"
        n = self.c.pick(SPANS) * (MINUTE if micros else 1)
        return f"{found} {op} {n}" if self.c.one_in(2) else f"{n} {SWAPPED[op]} {found}"

    def value(self, kind: str, x: str) -> str:
        """A moment, a day or a number of a row, as it is or moved by a constant or by what the row says."""
        own = f"coalesce({x}.wait, 1)" if self.c.one_in(2) else f"{x}.wait"
        return self.moved(kind, x, (*SPANS, own))

    def moved(self, kind: str, x: str, spans: Sequence[object]) -> str:
        span = self.c.pick(spans)
        match kind:
            case _ if span == 0:
                return f"{x}.{kind}"
            case "at":
                micros = span * MINUTE if isinstance(span, int) else f"to_long({span}) * {MINUTE}"
                return f"micros_after({x}.at, {micros})"
            case "day":
                return f"days_after({x}.day, {span})"
            case _:
                back = isinstance(span, int) and span < 0
                return f"{x}.n - {str(span)[1:]}" if back else f"{x}.n {'-' if self.c.one_in(3) else '+'} {span}"

    def window(self, kind: str, x: str, size: int | None = None) -> str:
        sizes = {"at": (20 * MINUTE, DAY), "day": (7, 1), "n": (2, 10)}[kind]
        return f"tumble({x}.{kind}, {self.c.pick(sizes) if size is None else sizes[size]})"

    def head(self, depth: int) -> str:
        fields = [f"f{i}: {self.shown()}" for i in range(1 + self.c.number(2))]
        if self.c.one_in(2):
            fields.append(f"h: {self.fold()}")
        if depth:
            fields.append(f"g: {self.bag(depth - 1)}")
        if (held := [x for x, row in self.around if "below" in row.names]) and self.c.one_in(4):
            fields.append(f"b: {self.c.pick(held)}.below")
        return f"⟨{', '.join(fields)}⟩"

    def shown(self) -> str:
        x = self.c.pick(self.around)[0]
        match self.c.number(5):
            case 0:
                return self.value(self.c.pick(("at", "day", "n")), x)
            case 1:
                kind = self.c.pick(("at", "day", "n"))
                return self.window(kind, x)
            case 2:
                return f"micros_between({self.c.pick(self.around)[0]}.at, {x}.at)"
            case _:
                return f"{x}.{self.c.pick(('u', *FIELDS))}"

    def fold(self) -> str:
        """Of rows that lie somewhere: how many, a total, the last of them, whether there is one."""
        match self.c.number(5):
            case 0:
                return f"count({self.inside(lambda: f'{self.around[-1][0]}.u')})"
            case 1:
                return f"sum({self.inside(lambda: f'{self.around[-1][0]}.n')})"
            case 2:
                return f"{self.c.pick(('max', 'min'))}({self.inside(lambda: f'{self.around[-1][0]}.at')})"
            case 3:
                return f"exists({self.inside(lambda: f'{self.around[-1][0]}.day')})"
            case _:
                last = lambda: f"{self.value('at', self.around[-1][0])} < {self.around[0][0]}.at"  # noqa: E731
                return f"any({self.inside(last)})"

    def groups(self) -> str:
        """By a window, of rows that are joined."""
        kind = self.c.pick(("at", "day", "n"))
        window = lambda: f"⟨k: {self.window(kind, self.around[-1][0])}, v: {self.around[0][0]}.n⟩"  # noqa: E731
        return f"group[w](r in {self.inside(window)} by k: r.k of n: count(), s: sum(r.v))"


def timed_query(c: Choices, schema: Schema) -> Expr:
    """A closed term; drawn again where what a group is of could be there less than 0 times."""
    while True:
        found = parse_expr(_Timed(c, schema).view(c.number(3)), Environment(relations=dict(schema.relations)))
        try:
            check_positive(found)
        except QueryError:
            continue
        return found


def timed_case(c: Choices, batches: int = 3) -> Case:
    schema = timed_schema(c)
    return case_of(c, schema, timed_query(c, schema), batches)
