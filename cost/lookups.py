"""Why the rows of a table cannot be looked up from a change: its conditions one by one, in the words of the view.

A column is looked up by an equality with a value of its own type that one table read before it has, or between two such
values. Everything else is a condition on rows that are already read. What is found without a value of the change, by
reading the table whole, or from one value on, or by constants that are no key, grows with the table. It is worth its
price only when each row of it is part of the result: when no condition at all is left that could drop one, ``≠`` and
``is not null`` no less than others, no other table is joined to it, and what is made of it is not kept for labels that
nobody holds.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from math import ceil, isnan

from attrs import field, frozen

from ripplenest.cost.estimate import dictionary_site, found_by_a_key
from ripplenest.cost.moving import told
from ripplenest.nrc.paths import as_written, column_of, columns_read, path_of
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.rewriting.access import Join, Read, of_nothing
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.disjoint import disjuncts, is_join
from ripplenest.nrc.rewriting.equated import Equation, follows
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.rewriting.normal import conjuncts, folded
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import At, Call, Elem, Lit, OutL, Proj, Rel, Term, Total, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, nullable
from ripplenest.nrc.walk import children, free_vars, nodes, rebuild_elem, replace_elem

EXACT = 10**15  # rows beyond which an estimate is written by its digits no more
BY_KEY = "compare with a value by key, or keep the two apart and compare them when they are read"


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
class Scan:
    """A table of which more is read when it grows: the generator as the view has it, what happens, and why rows of it
    can be read for nothing. ``there``: if nothing happens but that. ``absent``: of what one value for all rows that
    comes or goes is compared with."""

    rel: Rel
    node: str
    when: str
    what: str
    obstacles: tuple[Obstacle, ...]
    there: There | None = None
    absent: bool = False


def told_apart(every: Iterable[Join]) -> frozenset[Elem]:
    """The sides of comparisons that some of these joins ask for, and others for their opposite: rows of which they have
    a value are in one of the two. Variables are called like what they go through."""
    asked = {_of_parts(t, j) for j in every for t in j.product.conditions if isinstance(t, Call) and t.fn in SWAPPED}
    both = (t for t in asked if isinstance(t, Call) and Call(OPPOSITE[t.fn], t.args) in asked)
    return frozenset(side for t in both for side in t.args)


def _of_parts(t: Elem, j: Join) -> Elem:
    return replace_elem(t, {var: Var(rel.key) for var, rel in j.product.generators})


def _is_rest(t: Elem, j: Join, apart: Set[Elem]) -> bool:
    """Whether ``t`` asks for the rows that are not in joins of which each has what the other one has not."""
    return isinstance(t, Call) and t.fn == "is_null" and _of_parts(t.args[0], j) in apart


def scans(j: Join, called: Called, held: bool = True, apart: Set[Elem] = frozenset()) -> Iterator[Scan]:
    """The generators of ``j`` of which more is read when their tables grow. ``apart``: what the joins beside it tell.

    Law: where none of them has an obstacle, each row that is read of them is part of a row of the product, as long as
    nothing is read before some combination of changes and of what they look up fulfils its conditions. ``held``: each
    row of the product is part of the view.
    """
    order = j.reads()
    for r in order:
        if called.grows(r, j, order):
            words = _Words(j, called, _region(order, r), r)
            found_by = {e.condition for e in r.keys} | {e.condition for o in order for e in _said(o)}
            asked = [t for t in j.product.conditions if j.sources(t) & words.region and t not in found_by]
            lost = [t for t in asked if not _is_rest(t, j, apart)]
            changed = [o for o in order if o.how == "change"]
            changes = dict.fromkeys(map(words.happens, changed))
            others = [o for o in order if called.grows(o, j, order) and o.var not in words.region]
            kept = map(words.kept, _kept(j, words.region, {o.var for o in changed if called.moves(o)}))
            beside = (*map(words.beside, others), *kept, *([] if held else [words.unheld()]))
            obstacles = (*map(words.obstacle, lost), *beside)
            there = words.there(*changed) if len(changed) == 1 else None
            yield Scan(r.rel, words.generator, f"when {' and '.join(changes)}", words.read, obstacles, there)
        elif r.grows and called.of_nothing(j) and not called.moves(r) and r.rel.name not in called.fixed:
            words = _Words(j, called, _region(order, r), r)
            when = " and ".join(dict.fromkeys(map(words.happens, (o for o in order if o.how == "change"))))
            yield Scan(r.rel, words.generator, f"when {when}", words.read, (), absent=True)


def _kept(j: Join, region: Set[str], moving: Set[str]) -> list[Call]:
    """The comparisons of rows with values that move, as values of what is made, if nothing else of these is shown."""
    found = [
        t
        for part in (j.product.head, *j.product.times)
        for t in nodes(part)
        if isinstance(t, Call) and t.fn in SWAPPED and j.sources(t) & region and j.sources(t) & moving
    ]
    read = (t for part in (j.product.head, *j.product.times) for t in _outside(part, found))
    return [] if any(j.sources(t) & moving for t in read) else found


def _outside(t: Term, found: Sequence[Elem]) -> Iterator[Elem]:
    """What stands beside the elements ``found``."""
    if t not in found:
        below = [*children(t)]
        yield from (n for c in below for n in _outside(c, found))
        if not below and isinstance(t, Var):
            yield t


def _said(r: Read) -> Iterator[Equation]:
    """What says for which place a fold is read that has a row for every place: it drops nothing."""
    return (e for e in r.keys if r.place is not None and e.column.partition(".")[0] == "label")


@frozen
class Fan:
    """A table that is looked up, where a key finds several rows and conditions drop some of them."""

    node: str
    what: str


def fans(j: Join, called: Called, rows: Mapping[str, float]) -> Iterator[Fan]:
    """The probes of ``j`` of which rows are dropped, with what one key finds by an estimate; ``rows`` as far as known.

    They are what a change costs, however few of them are in the result.
    """
    order = j.reads()
    looked_up = {e.condition: e for r in order for e in r.keys}
    pairs = [t for t, e in looked_up.items() if e.partner and isinstance(t, Call)]
    changes = [r for r in order if r.how == "change"]
    left = [t for t in j.product.conditions if t not in looked_up and t not in j.told and not follows(t, pairs)]
    for r in order:
        dropping = [t for t in left if r.var in j.sources(t)]
        known = r.rel.name in rows and r.how == "probe" and not called.finds_one(r) and not called.grows(r, j, order)
        if known and dropping and (found := ceil(found_by_a_key(j, r, rows))) > 1:
            words = _Words(j, called, frozenset((r.var,)), r)
            yield Fan(words.generator, words.fan(found, changes, dropping))


def _is_found(value: object) -> bool:
    """Whether rows with this value are found by who compares columns: NULL and NaN equal nothing there."""
    return value is not None and not (isinstance(value, float) and isnan(value))


def _is_of_nothing(var: str, rel: Total, j: Join) -> bool:
    """Whether something is asked of that fold alone which is true where it answers nothing."""
    asked = (t for t in j.product.conditions if j.sources(t) == {var})
    return any(folded(simplify_elem(of_nothing(t, var, rel))) == Lit(True, BOOL) for t in asked)


def _says_which(t: Elem, j: Join) -> bool:
    """Whether constants say by it which row is read."""
    return any(e.condition == t and e.constant for e in j.equations)


def _region(order: tuple[Read, ...], scan: Read) -> frozenset[str]:
    """The scanned generator, and those whose keys come from it."""
    found = {scan.var}
    for r in order:
        if found & {*r.via}:
            found.add(r.var)
    return frozenset(found)


@frozen
class _Words:
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
                why, advice = "is a condition of its own, no equality", f"say {self._text(t)} = true"
            case _:
                why, advice = "is no equality", self._equate(t, "beside this condition")
        parameters = ", ".join(dict.fromkeys(self._parameters(t)))
        advice = self._inside() or advice
        return Obstacle(f"{self._text(t)} {why}" + (f" (parameter {parameters})" if parameters else ""), advice)

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
