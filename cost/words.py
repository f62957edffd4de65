"""A table that is read whole, in the words of its view: what happens then, which conditions drop rows of it, why these
look up none, and what would."""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import isnan

from attrs import frozen

from ripplenest.cost.called import Called
from ripplenest.cost.estimate import dictionary_site
from ripplenest.nrc.paths import as_written, column_of, columns_read, path_of
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.rewriting.access import Join, Read
from ripplenest.nrc.rewriting.disjoint import disjuncts, is_join
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.syntax import At, Call, Elem, Lit, OutL, Placed, Proj, Rel, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import nullable
from ripplenest.nrc.walk import children, free_vars, nodes, rebuild_elem

EXACT = 10**15  # rows beyond which an estimate is written by its digits no more
BY_KEY = "compare with a value by key, or keep the two apart and compare them when they are read"


@frozen
class Obstacle:
    """A condition that drops rows of a table that is read whole: why it finds none of them, and what would."""

    why: str
    advice: str


@frozen
class There:
    """That the row of ``part`` comes or goes which constants tell, some of them ``equal`` to columns of it: nothing
    else is read of it, but for conditions on ``columns`` of its own. When other columns change it stays."""

    part: str
    columns: frozenset[str]
    equal: tuple[tuple[str, object], ...]


@frozen
class Words:
    """One scan in the words of its view. ``region``: the scanned generator and those that are reached from it."""

    join: Join
    called: Called
    region: frozenset[str]
    scan: Read

    @property
    def generator(self) -> str:
        rel = self.scan.rel
        if place := self.called.place(rel):
            return place
        return f"for {self._shown(self.scan.var)} in {self._table(rel)}"

    @property
    def read(self) -> str:
        rel = self.scan.rel
        found = [e.condition for e in self.scan.keys] + [b.condition for b in self.scan.ends]
        where = f" where {' and '.join(dict.fromkeys(map(self._text, found)))}" if found else ""
        if place := self.called.place(rel):
            return f"every {place} is visited{where}"
        return f"every row of {self._table(rel)} is read{where}" if found else f"{self._table(rel)} is read whole"

    def fan(self, found: int, changes: Iterable[Read], dropping: Iterable[Elem]) -> str:
        """What a probe finds, and what is done with it."""
        when = " and ".join(dict.fromkeys(map(self.happens, changes)))
        conditions = ", ".join(dict.fromkeys(map(self._text, dropping)))
        rows = f"{found:,}" if found < EXACT else f"{found:.0e}"
        return f"when {when}, a key finds about {rows} rows, of which only those with {conditions} are kept"

    def happens(self, change: Read) -> str:
        """What a ``change`` is, as far as the product reads it."""
        rel = change.rel
        if self.there(change) is not None:
            return f"the row of {self._table(rel)} comes or goes"
        if place := self.called.place(rel):
            return f"{'an' if rel.name in self.called.bags else 'a'} {place} appears or goes"
        if rel.name not in self.called.ones:
            return f"{self._table(rel)} changes"
        if passed := self.called.passes(self.join):
            return f"{' or '.join(dict.fromkeys(map(self._text, passed)))} becomes true, or is no more"
        absent = self.called.of_nothing(self.join)
        return f"{self._table(rel)}, one value for all rows, {'becomes NULL or is one again' if absent else 'changes'}"

    def there(self, change: Read) -> There | None:
        """That row, if constants tell it, and nothing is read of it but that it is there."""
        p, var = self.join.product, frozenset((change.var,))
        sources = map(self.join.sources, (p.head, *p.times, *p.conditions))
        if not self.called.is_one(change) or any(change.var in s and s != var for s in sources):
            return None
        read = {column_of(c) for t in p.conditions for c in columns_read(t, var, self.join.types)}
        told = ((e.column, t) for e in change.equated if e.constant and e.usable for t in children(e.condition))
        equal = tuple((column, t.value) for column, t in told if isinstance(t, Lit) and _is_found(t.value))
        return There(change.rel.name, frozenset(c for c in read if c is not None), equal)

    def obstacle(self, t: Elem) -> Obstacle:
        """Why ``t`` cannot look up rows of the scanned table."""
        match t:
            case Call("or"):
                why, advice = self._disjunction(t)
            case Call("eq" | "same", (a, b)) if self._joined(a, b):
                why, advice = "joins what is read, and drops each row without a partner", self._looked_up()
            case Call("eq" | "same", (a, b)):
                why, advice = self._equality(*((a, b) if self.join.sources(a) & self.region else (b, a)))
            case _ if t in [b.condition for b in self.scan.ends]:
                why, advice = self._one_end(t)
            case _ if column_of(t) is not None:
                why, advice = "is a condition of its own, no equality", self._said(t)
            case _:
                why, advice = "is no equality", self._equate(t, "beside this condition")
        parameters = ", ".join(dict.fromkeys(self._parameters(t)))
        advice = self._inside() or advice
        return Obstacle(f"{self._text(t)} {why}" + (f" (parameter {parameters})" if parameters else ""), advice)

    def _said(self, t: Elem) -> str:
        """How a truth ``t`` is an equality: a stored column is. What is worked out is true or false as it is."""
        own, rel = self.join.sources(t) == {self.scan.var}, self.scan.rel
        is_stored = own and self.called.place(rel) is None and not isinstance(rel, Placed)
        return f"say {self._text(t)} = true" if is_stored else self._equate(t, "beside this condition")

    def _one_end(self, t: Elem) -> tuple[str, str]:
        why, advice = "says where one end is, and all beyond it is read", self._equate(t, "beside this condition")
        if advice == BY_KEY:
            return why, advice
        return why, f"compare {self._column(self.scan.rel)} from the other side, too; or {advice}"

    def _disjunction(self, t: Elem) -> tuple[str, str]:
        names = self.join.product.variables().keys()
        bad = [side for side in disjuncts(t) if not any(is_join(c, names) for c in conjuncts(side))]
        shown = ", ".join(self._text(side) for side in bad)
        same = bad and all(any(self._constant(c) for c in conjuncts(side)) for side in bad)
        why = "holds for the same rows whatever changed" if same else "is no equality between two tables"
        return f"is an `or`, and its side {shown} {why}", self._equate(t, "in every side of the `or`")

    def beside(self, other: Read) -> Obstacle:
        """``other`` grows as well: where one of the two is empty, the other is read for nothing."""
        table = self._table(other.rel)
        why = f"no equality leads to {table} either, and where that is empty these rows are read for nothing"
        return Obstacle(why, f"equate {self._column(self.scan.rel)} with {self._column(other.rel)}")

    def kept(self, t: Elem) -> Obstacle:
        """A value of each row that few have another of when what it is compared with moves."""
        advice = "ask it as a condition, compare columns as they are, or have fewer such values in one row"
        return Obstacle(f"{self._text(t)} is a value of each row, which most of them keep", advice)

    def unheld(self) -> Obstacle:
        """The product makes rows of a table that is kept for labels that nobody holds, too."""
        return Obstacle("what is made of them is kept even where no row of the view holds it", self._looked_up())

    def _looked_up(self) -> str:
        changed = [rel for _, rel in self.join.product.generators if rel.at is At.DELTA]
        if any(rel.name in self.called.ones for rel in changed):
            return BY_KEY
        return self._inside() or f"equate {self._column(self.scan.rel)} with {self._columns(changed)}"

    def _inside(self) -> str | None:
        """Where a row that constants tell is best read, if all that the product asks is whether there is one."""
        found = [r.rel for r in self.join.reads() if r.how == "change" and self.there(r) is not None]
        return f"read {self._table(found[0])} inside of what compares with it, and not around it" if found else None

    def _joined(self, a: Elem, b: Elem) -> bool:
        """Whether an equality joins a table to one that is read before it and grows."""
        left, right = self.join.sources(a), self.join.sources(b)
        return bool(left and right) and not left & right and left | right <= self.region

    def _constant(self, t: Elem) -> bool:
        """Whether ``t`` looks up rows of the scanned table by a constant."""
        match t:
            case Call("eq" | "same", (a, b)):
                sides = column_of(a) is not None or column_of(b) is not None
                return sides and self.join.sources(t) == {self.scan.var}
        return False

    def _equality(self, own: Elem, other: Elem) -> tuple[str, str]:
        table = self._table(self.scan.rel)
        if self.join.sources(own) & self.join.sources(other):
            return (
                f"has columns of {table} on both sides of =",
                f"store what the two say together as one column of {table}, and equate that",
            )
        match own:
            case Call(fn, (column,)) if fn.startswith("to_") and column_of(column) is not None:
                stored, asked = (nullable(elem_type(side, self.join.types), False) for side in (column, own))
                return (
                    f"compares {self._text(column)}, of type {stored}, with a value of type {asked}",
                    f"compare columns of one type: declare {self._text(column)} as {asked}",
                )
        if not self.join.sources(other) and not free_vars(other) and column_of(own) is not None:
            return "is a condition on rows that are read already", self._looked_up()
        if column_of(own) is None:
            return (
                f"computes its side {self._text(own)} from {table}, and only stored columns are looked up",
                f"store {self._text(own)} as a column of {table}, and equate that",
            )
        return (
            f"needs values of several tables at once: {self._text(other)}",
            f"equate {self._text(own)} with a value of one table",
        )

    def _equate(self, t: Elem, where: str) -> str:
        rels, sources = dict(self.join.product.generators), self.join.sources(t)
        own = self._columns([self.scan.rel, *(rels[var] for var in sorted(sources & self.region))])
        others = self._columns(rels[var] for var in sorted(sources - self.region))
        if any(rels[var].name in self.called.ones for var in sources - self.region):
            return BY_KEY
        if free_vars(t) - rels.keys():
            others = "a parameter of the label"
        return f"equate {own} with {others}, {where}" if others else f"compare {own} with a constant by ="

    def _columns(self, rels: Iterable[Rel]) -> str:
        return " or ".join(dict.fromkeys(self._column(rel) for rel in rels))

    def _column(self, rel: Rel) -> str:
        place = self.called.place(rel)
        if rel.name in self.called.bags:
            return f"a value of the row around the {place}"
        if place:
            return f"a value of the {place}"
        return self.called.groups.get(rel.name) or f"a column of {self._table(rel)}"

    def _table(self, rel: Rel) -> str:
        if rel.name in self.called.kept:
            return f"{self.called.kept[rel.name]} (kept as {part(rel.name)})"
        return self.called.groups.get(rel.name) or part(rel.name)

    # ------------------------------------------------------------ terms

    def _text(self, t: Elem) -> str:
        match t:
            case Call("eq" | "same", (a, b)) if found := self._answered(a, b) or self._answered(b, a):
                return found
        text = show_elem(self._named(as_integers(t)))
        for answer in self.called.answers:
            text = text.replace(show_elem(Var(answer)), answer)  # what it is, and no name that needs quotes
        return f"`{text}`"

    def _answered(self, label: Elem, value: Elem) -> str | None:
        """An answer that is looked up by one value of its place."""
        while isinstance(label, OutL):
            label = label.label
        match label:
            case Proj(Var(var), "label") if answer := self._answer(var):
                return f"`{answer}` by `{show_elem(as_written(self._named(value)))}`"
        return None

    def _answer(self, var: str) -> str | None:
        rel = dict(self.join.product.generators).get(var)
        return None if rel is None else self.called.groups.get(rel.name)

    def _shown_of(self, var: str, column: str) -> Elem | None:
        """What a column of a group is."""
        rel = dict(self.join.product.generators).get(var)
        return None if rel is None else self.called.shown.get(rel.name, {}).get(column)

    def _parameters(self, t: Elem) -> Iterator[str]:
        """The parameters of an inner bag's labels that ``t`` reads."""
        domains = {var for var, rel in self.join.product.generators if self.called.place(rel)}
        for n in nodes(t):
            if isinstance(n, Proj) and isinstance(n.of, Var) and n.of.name in domains:
                yield self._text(n)

    def _named(self, t: Elem) -> Elem:
        """Rows of dictionaries without ⟨label, row⟩, parameters of labels and variables by the names of the query."""
        rels = dict(self.join.product.generators)
        match t:
            case Proj(Var(var), name) if var in rels and self.called.place(rels[var]):
                return path_of(name)
            case Proj(Proj(Var(var), "row"), name) if (shown := self._shown_of(var, name)) is not None:
                return shown
            case Proj(Var(var), "row") if var in rels and dictionary_site(rels[var]) is not None:
                return Var(self._shown(var))
            case Var(var):
                return Var(self._shown(var))
            case _:
                return rebuild_elem(t, self._named)

    def _shown(self, var: str) -> str:
        return self._called.get(var, var)

    @cached_property
    def _called(self) -> dict[str, str]:
        return _names(tuple(self.join.types), self.called.variables)


def _is_found(value: object) -> bool:
    """Whether rows with this value are found by who compares columns: NULL and NaN equal nothing there."""
    return value is not None and not (isinstance(value, float) and isnan(value))


def _names(variables: tuple[str, ...], known: tuple[str, ...]) -> dict[str, str]:
    """``x1``, ``x3`` as ``x``, ``x2``: compilation numbers variables apart in every summand, and keeps their order."""
    own = dict.fromkeys(known)
    found = {var: var for var in variables if var in own}
    free: dict[str, deque[str]] = {}
    for name in own:
        if name not in found:
            free.setdefault(_plain(name), deque()).append(name)
    for var in variables:
        if var not in found and (left := free.get(_plain(var))):
            found[var] = left.popleft()
    return found


def _plain(name: str) -> str:
    return name.rstrip("0123456789")
