"""How a comprehension reads its generators: as disjoint joins, each from the change outwards, each next table only at
the keys found so far.

This is what makes a batch cost what the change costs. Changes are read first; then the generator with most columns
equated with what is read already, which is *probed* at these keys; then those equated with constants only; what
nothing is equated with is read between values that it is compared with (``nrc/rewriting/bands.py``), or scanned. It is
decided here once: estimates and verdicts count these reads, plans translate them to columns
(``ripplenest/plan/lower.py``), engines obey the plans.

Keys may be *joined* from several generators, if these were reached from one another: of a triangle
``E(x,y)·E(y,z)·E(x,z)`` the third generator is read at the pairs (x,z) that the other two have, which are as many as
the rows of the second. There it matters which of two lists is read, so each row of the change is read in that of the
``orders`` in which the list that it asks for first is the shorter (FAQ, section 6: the smaller of two factors is
looped over, and the other looked up).

What can fail is asked last. A combination of rows for which some condition is false or NULL is not in the result, and
nobody minds what the others are; a product has no value when for some combination one condition fails and no other is
false, or when all are true and the head fails. So conditions that can fail are asked about what fulfils all others. A
key that can fail is asked before, because without it there would be no join. Where it has no value for some row, the
product is read *cautiously* instead, with that condition among the last: the row may have no partner.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Literal

from attrs import evolve, frozen

from ripplenest.nrc.functions.scalars import is_strict
from ripplenest.nrc.paths import column_of, label_columns, labels_held
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.rewriting.answered import answers
from ripplenest.nrc.rewriting.bands import (
    Bound,
    band,
    beside,
    compared,
    is_in_order,
    is_side,
    operands,
    says_where,
    stored,
)
from ripplenest.nrc.rewriting.disjoint import disjoint
from ripplenest.nrc.rewriting.either import of_each
from ripplenest.nrc.rewriting.equated import Equation, by_column, implied, keys, told
from ripplenest.nrc.rewriting.equations import computed, place_asked
from ripplenest.nrc.rewriting.normal import Comprehension, is_total, not_true
from ripplenest.nrc.syntax import At, Call, Elem, InL, IsSite, OutL, Placed, Proj, Rel, Total, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import UNIT, Label, Record, Site, Type, may_be_null, nullable
from ripplenest.nrc.walk import free_vars, replace_elem

How = Literal["change", "probe", "scan"]
MOST_KEYS = 200_000  # keys that are joined from several generators; where they are more, those of one will do


def how(at: At, keyed: bool) -> How:
    """How a table is read: a change whole, what has keys by them."""
    return "change" if at is At.DELTA else "probe" if keyed else "scan"


@frozen
class Read:
    """One generator: ``keys`` are looked up with the values of ``via``, or with constants when there is no ``via``.

    The first of ``via`` is the one that gives most keys alone.
    ``equated`` are all equations with constants or with what is read before, one a column; some cannot be looked up.
    ``ready``: the conditions to ask here, in the order of the product: those that cannot fail as soon as all that they
    read is known, and those that say what the keys are, what is implied last. ``guarded``: the others, about what
    fulfils those of all reads.
    ``band``: what its columns lie between, by what is read before (``nrc/rewriting/bands.py``), and ``beside`` it what
    the orders of other columns say.
    ``place``: of a fold that has a row for every place, the one that is read.
    Law: each condition that reads generators is asked at one read of the order, where all that it reads is known.
    """

    var: str
    rel: Rel
    keys: tuple[Equation, ...] = ()
    via: tuple[str, ...] = ()
    equated: tuple[Equation, ...] = ()
    ready: tuple[Elem, ...] = ()
    guarded: tuple[Elem, ...] = ()
    place: InL | None = None
    band: tuple[Bound, ...] = ()
    beside: tuple[tuple[Bound, ...], ...] = ()

    @property
    def how(self) -> How:
        return how(self.rel.at, bool(self.keys))

    @property
    def placed(self) -> bool:
        """Whether nothing that is read later says which place it is."""
        return not isinstance(self.rel, Total) or self.place is not None

    @property
    def alone(self) -> tuple[Equation, ...]:
        """The keys that the first of ``via`` gives without the others."""
        return tuple(e for e in self.keys if e.others <= {*self.via[:1]})

    @property
    def ends(self) -> tuple[Bound, ...]:
        """What it is read between, in the order of a column that is stored: values of one generator. None where keys
        find what is read already, unless both ends are known: an order costs what a batch writes, and what lies on one
        side of a value is half of it. Of a value that moves that is little, which a product says (``plan/ranges.py``).
        """
        return self.edges if not self.via or len(self.edges) == 2 else ()

    @property
    def edges(self) -> tuple[Bound, ...]:
        """The ends that an order could find, whatever keys do."""
        return self._found(stored(self.band)) if self.band else ()

    @property
    def ways(self) -> tuple[tuple[Bound, ...], ...]:
        """The ``edges``, and what orders of other columns could find by values of the same generator, where the edges
        are one: of what overlaps, those that begin before its end, and those that end after its begin. Which are fewer
        only the values tell."""
        own = self.edges
        others = self.beside if len(own) == 1 else ()
        return (own, *(way for way in map(self._found, others) if way and way[0].others == own[0].others))

    def _found(self, bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        one = {*self.via}.union(*(b.others for b in bounds))
        kept = len(one) == 1 and self.how != "change" and self.place is None and is_in_order(self.rel)
        return bounds if kept and not {b.column for b in bounds} & {e.column for e in self.keys} else ()

    @property
    def grows(self) -> bool:
        """Whether more is read when the table grows, whatever changes: it is scanned, looked up by constants alone, or
        read from one value on.

        A table without columns does not: all of its rows are one.
        """
        looked_up = any(not e.constant for e in self.keys) or len(self.ends) == 2
        by_change = self.how == "change" or looked_up or self.place is not None
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

    @cached_property
    def implied(self) -> tuple[Equation, ...]:
        """What follows from several of them, of columns of one type."""
        columns = [e.condition for e in self.equations if e.usable and e.partner]
        pairs = [t for t in dict.fromkeys(columns) if isinstance(t, Call) and columns.count(t) > 1]
        ends = {t: (min(self.sources(t)), column_of(t)) for pair in pairs for t in pair.args}
        every = implied(pairs) if len(pairs) > 1 else ()
        return tuple(e for t in every for e in _implied(t, *(ends[side] for side in t.args)))

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """What the conditions compare with columns of one generator, by values of others of its type or a wider one."""
        every = chain(compared(self.product.conditions), of_each(self.product.conditions))
        found = (self._bound(*sides) for sides in every)
        return tuple(b for b in found if b is not None)

    @cached_property
    def partial(self) -> tuple[Elem, ...]:
        """The conditions that have no value for some rows."""
        return tuple(t for t in self.product.conditions if not is_total(t, self.types))

    def reads(self, cautious: bool = False) -> tuple[Read, ...]:
        """The generators in the order in which they are read; ``cautious``: by no key that can fail.

        Changes first, those that are joined by the keys that they give each other; then folds of known places by which
        others are looked up, each one row; then what has most keys, of as many first those that find who holds a bag,
        those that do not find rows of all bags, ties in the order of the product. What finds rows of all bags waits for
        what finds one row, or those of one bag. Constants come last, because they are the same in every batch: what
        they find grows with the table. Where nothing changes, what is read first is what all others are found from, if
        from the first generator some are not: all its rows would be put beside all of theirs, or beside very many.
        Law: both orders make the same rows where both have a value, and the cautious one has one wherever the product
        has.
        """
        usable = self._usable(cautious)
        first = self._order(self._changes, usable)
        if self._changes or not _beside(first):
            return first
        begins = (self._best(v, rel, (), usable.get(v, ())) for v, rel in self._stored if self._can(v, frozenset()))
        return min((first, *(self._order((r,), usable) for r in begins)), key=_beside)

    def orders(self, whole: bool = False) -> tuple[tuple[Read, ...], ...]:
        """The orders among which rows of the change choose; the first is ``reads``. There are others where keys are
        joined from several generators and one generator changes: from another one that it leads to, and on from what
        was read last. Where the ``whole`` is read, and nothing changes, those of the generator that is read first do.
        None asks for rows of inner bags by less of their labels: what other columns find is of all bags.

        Law: each makes the rows of ``reads`` where both have a value.
        """
        first, usable = self.reads(), self._usable(cautious=False)
        begin = first[:1] if whole and not self._changes else self._changes
        if len(begin) != 1 or not any(len(r.via) > 1 for r in first) or first[1].place is not None:
            return (first,)
        stored = ((v, rel) for v, rel in self._stored if v != begin[0].var)
        found = (self._best(v, rel, begin, usable.get(v, ())) for v, rel in stored)
        begins = [r for r in found if r.via and r.var not in self._places and r.var != first[1].var]
        others = (self._order((*begin, r), usable, onwards=True) for r in begins)
        bags = {r.var: _of_bag(r) for r in first}
        return (first, *(order for order in others if all(_of_bag(r) >= bags[r.var] for r in order)))

    @cached_property
    def _changes(self) -> tuple[Read, ...]:
        """The changes: the first one, and each next by most keys of those before it, so that what is joined is no more
        than finds a partner. A key that can fail is none: here nobody looks up again without it."""
        changes = [(var, rel) for var, rel in self.product.generators if rel.at is At.DELTA]
        usable, found = self._usable(cautious=True), list[Read]()
        while changes:
            joined = [self._best(var, rel, found, usable.get(var, ())) for var, rel in changes]
            step = max(joined, key=lambda r: len(r.keys) if r.via else 0)
            found.append(step if step.via else evolve(step, keys=()))
            changes.remove((step.var, step.rel))
        return tuple(found)

    def apart(self) -> Iterator["Join"]:
        """Itself, or where it finds more by what a fold with a row for every place answers, the joins with stored rows
        of it, and that with nothing (``nrc/rewriting/answered.py``). Law: they do not overlap, and have its rows."""
        for t in self.product.conditions if self._places else ():
            for known, nothing in answers(t) if t not in {*self.partial, *self.told} else ():
                asked = self._with(t, known)
                if self._says_stored(known) and asked._early - self._early:
                    yield from asked.apart()
                    yield from self._with(t, *nothing).apart()
                    return
        yield self

    @cached_property
    def told(self) -> frozenset[Elem]:
        """The conditions that say what is computed of what others say of the same place: they drop no row of it."""
        groups = ((v, rel) for v, rel in self.product.generators if isinstance(rel, Placed) and rel.computed)
        return frozenset(t for v, rel in groups for t in computed(self.product, v, rel))

    def _with(self, t: Elem, *others: Elem) -> "Join":
        """With ``others`` in the place of the condition ``t``."""
        at = self.product.conditions.index(t)
        before, after = self.product.conditions[:at], self.product.conditions[at + 1 :]
        return evolve(self, product=evolve(self.product, conditions=(*before, *others, *after)))

    @cached_property
    def _early(self) -> frozenset[str]:
        """The folds with a row for every place that are read before it is known which place it is."""
        return frozenset(r.var for r in self.reads() if not r.placed)

    @property
    def _stored(self) -> list[tuple[str, Rel]]:
        return [(var, rel) for var, rel in self.product.generators if rel.at is not At.DELTA]

    def _usable(self, cautious: bool) -> Mapping[str, Sequence[Equation]]:
        """By generator, the equations that it can be looked up by."""
        found: dict[str, list[Equation]] = {}
        for e in (*self.equations, *self.implied):
            if e.usable and not (cautious and e.condition in self.partial):
                found.setdefault(e.var, []).append(e)
        return found

    def _order(
        self, begin: Sequence[Read], usable: Mapping[str, Sequence[Equation]], onwards: bool = False
    ) -> tuple[Read, ...]:
        """What is read after ``begin``; ``onwards``: of what has as many keys, what is reached from what was read last.
        """
        found, changed = [*begin], {r.var for r in begin if r.how == "change"}
        read = {r.var for r in found}
        left = [(var, rel) for var, rel in self._stored if var not in read]
        while left:
            steps = [self._best(var, rel, found, usable.get(var, ())) for var, rel in left if self._can(var, read)]
            last = found[-1].var if onwards else None
            lies = {b.var for b in self.bounds if b.others <= read}, {b.var for b in self.bounds if b.others <= changed}
            step = _next(steps, self._leads(usable, read), lies, last)
            found.append(step)
            read.add(step.var)
            left.remove((step.var, step.rel))
        return self._asked(found)

    def _leads(self, usable: Mapping[str, Sequence[Equation]], read: Set[str]) -> frozenset[str]:
        """The folds with a row for every place by which others can be looked up that are not ``read``."""
        others = (e.others for var, found in usable.items() if var not in read for e in found)
        return frozenset(v for of in others for v in of if v in self._places and of <= {*read, v})

    def _can(self, var: str, seen: Set[str]) -> bool:
        """Whether it can be read behind what is ``seen``: of a fold that has a row for every place, all must be known
        that says which."""
        place = self._places.get(var)
        known = place is None or free_vars(place) <= {*seen, *self.free}
        says = (e.others for e in self.equations if e.var == var), (b.others for b in self.bounds if b.var == var)
        return known or (var in self._stored_only and any(o and o <= seen for o in chain(*says)))

    @cached_property
    def _stored_only(self) -> frozenset[str]:
        """The folds with a row for every place of which only stored rows can take part: what is asked of them is not
        true where they answer nothing. Such rows are found like all others, also before it is known which place it is.
        """
        return frozenset(v for t in self.product.conditions for v in self._says_stored(t))

    def _says_stored(self, t: Elem) -> list[str]:
        """The folds with a row for every place of which ``t`` is not true where they answer nothing."""
        asked = self.sources(t)
        totals = ((v, rel) for v, rel in self.product.generators if v in asked and isinstance(rel, Total))
        return [v for v, rel in totals if not_true(of_nothing(t, v, rel))]

    @cached_property
    def _places(self) -> dict[str, InL]:
        """By generator, the place for which a fold is read that has a row for every place."""
        generators = self.product.generators
        return {v: place_asked(self.product, v, r) for v, r in generators if isinstance(r, Total)}

    def sources(self, t: Elem) -> frozenset[str]:
        """The generators that ``t`` reads."""
        return free_vars(t) & self._variables

    @cached_property
    def _variables(self) -> frozenset[str]:
        return frozenset(var for var, _ in self.product.generators)

    def _best(self, var: str, rel: Rel, read: Sequence[Read], usable: Sequence[Equation]) -> Read:
        """``rel`` by most keys of those that are reached from one change, or by constants."""
        known = {r.var for r in read}
        equated = by_column(e for e in self.equations if e.var == var and e.others <= known)
        keyed = [(keys(group, usable), group) for group in _reached(read)]
        found, group = max(keyed, key=lambda by: (len(by[0]), told(by[0])), default=((), ()))
        if not found:
            found = by_column(e for e in usable if not e.others)
        equated = by_column((*equated, *found))
        asked = {other for e in found for other in e.others}
        first = [v for v in group if found and found[0].others == {v}]
        via = dict.fromkeys((*first, *(v for v in group if v in asked)))
        place = self._places.get(var)
        if place is not None and not free_vars(place) <= {*known, *self.free}:
            place = None
        return Read(var, rel, found, tuple(via), equated, place=place)

    def _asked(self, order: Sequence[Read]) -> tuple[Read, ...]:
        """``order`` with every condition that reads generators at the place where it is asked."""
        seen: set[str] = set()
        usable = self._usable(cautious=True)
        waiting = [(t, sources) for t in self.product.conditions if (sources := self.sources(t))]
        found: list[Read] = []
        for r in order:
            bounds = [b for b in self.bounds if b.var == r.var and b.others <= seen and r.place is None]
            own = band(bounds)
            r = evolve(r, band=own, beside=beside(bounds, own) if own else ())  # noqa: PLW2901 - the same read, by others
            r = _by_ends(r, usable.get(r.var, ()))  # noqa: PLW2901
            seen.add(r.var)
            looked_up = [e.condition for e in r.keys]
            known = [t for t, sources in waiting if sources <= seen]
            ready = tuple(t for t in known if t not in self.partial or t in looked_up)
            also = tuple(e.condition for e in r.keys if e.implied)
            waiting = [(t, sources) for t, sources in waiting if t not in ready]
            found.append(evolve(r, ready=(*ready, *also)))
        return (*found[:-1], *(evolve(r, guarded=tuple(t for t, _ in waiting)) for r in found[-1:]))

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
        if column is None or self._is_of_no_label(own):
            return Equation(var, show_elem(own), others, False, cond)
        alike = nullable(elem_type(own, self.types)) == nullable(elem_type(other, self.types))
        partner = column_of(other)
        known = (min(others), partner) if others and partner else None
        return Equation(var, column, others, alike, cond, known, not free_vars(other))

    def _bound(self, own: Elem, other: Elem, upper: bool, cond: Elem) -> Bound | None:
        column, sources, others = column_of(own), self.sources(own), self.sources(other)
        if column is None or len(sources) != 1 or not others or sources & others or self._is_of_no_label(own):
            return None
        t = elem_type(other, self.types)
        if not is_side(other, cond) and may_be_null(t) and not self._is_compared(other):
            return None  # beside NULL what is moved may have no value all the same
        alike = says_where(elem_type(own, self.types), t)
        return Bound(min(sources), column, others, upper, cond) if alike else None

    def _is_compared(self, moved: Elem) -> bool:
        """Whether a condition that cannot fail is NULL where what is ``moved`` is: then nobody minds the others."""
        assert isinstance(moved, Call)
        total = (t for t in self.product.conditions if isinstance(t, Call) and t not in self.partial)
        sides = ((t.fn, (a, *operands(a))) for t in total for a in t.args)
        return any(is_strict(fn) and moved.args[0] in side for fn, side in sides)

    def _is_of_no_label(self, t: Elem) -> bool:
        """Whether ``t`` is a parameter that no label there can have, by its type: it is NULL, and no column."""
        match t:
            case OutL(label, site, _):
                kind = elem_type(label, self.types)
                return isinstance(kind, Label) and kind.site(site.name) is None
        return False


def _implied(t: Call, *ends: tuple[str, str | None]) -> Iterator[Equation]:
    """What an equality ``t`` of columns of one type, generator and column each, says of both of them."""
    for (var, column), (other, known) in (ends, ends[::-1]):
        if column is not None and known is not None and var != other:
            yield Equation(var, column, frozenset((other,)), True, t, (other, known), implied=True)


def of_nothing(t: Elem, var: str, rel: Total) -> Elem:
    """``t`` where the fold ``var`` answers nothing."""
    return replace_elem(t, {var: Tuple((("label", Proj(Var(var), "label")), ("row", rel.nothing)))})


def _by_ends(r: Read, usable: Sequence[Equation]) -> Read:
    """``r`` by the keys of what its columns are compared with, where these are equal, if an order finds it so."""
    ends = {v for b in stored(r.band) for v in b.others} if r.band and r.via else set()
    own = {e.column: e for e in usable if e.others == ends}
    if len(ends) != 1 or ends == {*r.via} or not own.keys() >= {e.column for e in r.keys}:
        return r
    found = evolve(r, keys=tuple(own[e.column] for e in r.keys), via=tuple(ends))
    return found if found.edges else r


def _is_answer(r: Read) -> bool:
    """Whether it is a fold with a row for every place that is found by what it answers."""
    return not r.placed and any(not e.implied and e.column.startswith("row.") for e in r.keys)


def _beside(order: Sequence[Read]) -> int:
    """How many are read of which no row is found by those before it, which all are put beside it, or any number."""
    return sum(_is_late(r) or not (r.via or r.band or r.place is not None) for r in order[1:])


def _next(steps: Sequence[Read], leads: Set[str], lies: Sequence[Set[str]], last: str | None) -> Read:
    """The best of ``steps``; some are folds that others are looked up by (``leads``), or lie between known values, and
    of these some between values of what changes: what lies there before and after comes to nothing."""
    late = {r.var for r in steps if _is_late(r)}
    near = any(_is_one(r) or (r.via and _of_bag(r)) for r in steps)
    others = any(r.via and all(_held(r)) for r in steps)
    wait = {r.var for r in steps if (near and r.var in late) or (others and not all(_held(r)))}
    keys = [0 if r.var in wait else len(r.keys) for r in steps]
    asked = [(bool(r.via), r.placed and r.var in leads, n, _is_answer(r)) for n, r in zip(keys, steps, strict=True)]
    own = [(told(r.keys), sum(_held(r)), r.var not in late) for r in steps]
    by = [(last in r.via, sum(r.var in some for some in lies), r.placed) for r in steps]
    worth = [(*o, *b) for o, b in zip(own, by, strict=True)]
    *_, step = max(zip(asked, worth, steps, strict=True), key=itemgetter(0, 1))
    return step


def _is_one(r: Read) -> bool:
    """Whether a key finds one row at most: a label that its rows hold, or the key that such a label is made of."""
    if not r.via:
        return False
    columns = {e.column for e in r.keys}
    names = {column.rpartition(".")[2] for column in columns}
    held = labels_held(r.rel.row, r.rel.name)
    return any(label_columns(path, site) <= columns or names >= {p for p, _ in site.params} for path, site in held)


def _is_of_all_bags(r: Read) -> bool:
    """Whether rows of inner bags are probed by other columns than labels, their own or one that they hold: what these
    find is of all bags."""
    return bool(r.via) and _has_label(r) and not _of_bag(r) and not _is_one(r)


def _of_bag(r: Read) -> int:
    """By how much of their label rows of an inner bag are read; 0 for others."""
    return sum(e.column.split(".")[0] == "label" for e in r.keys) if _has_label(r) else 0


def _is_late(r: Read) -> bool:
    """Whether it waits for others: what it finds is of all bags, or of all labels that have something in common."""
    return _is_of_all_bags(r) or not all(_held(r))


def _has_label(r: Read) -> bool:
    return not isinstance(r.rel, Placed) and isinstance(r.rel.row, Record) and r.rel.row.get("label") is not None


def _held(r: Read) -> list[bool]:
    """Of each label that its rows hold and its keys ask for, whether these are all of it: such a key finds one row, and
    what other columns find, or some of a label, may be any number."""
    found: dict[tuple[Elem, Site], set[str]] = {}
    for e in r.keys:
        for side in e.condition.args if isinstance(e.condition, Call) else ():
            match side:
                case OutL(label, site, param) if free_vars(label) == {r.var} and label != Proj(Var(r.var), "label"):
                    found.setdefault((label, site), set()).add(param)
    return [params == {name for name, _ in site.params} for (_, site), params in found.items()]


def _reached(read: Sequence[Read]) -> Sequence[Sequence[str]]:
    """The generators that were ``read``, those together that were reached by keys from one another. Keys of two that
    hang together by nothing would be each of one with each of the other."""
    groups: dict[str, list[str]] = {}
    root: dict[str, str] = {}
    for r in read:
        root[r.var] = root[r.via[0]] if r.via else r.var
        groups.setdefault(root[r.var], []).append(r.var)
    return [*groups.values()]


def joins(c: Comprehension, free: Mapping[str, Type] | None = None) -> Iterator[Join]:
    """``c``, whose other variables are ``free``, as joins that do not overlap (``nrc/rewriting/disjoint.py``)."""
    return (j for product in disjoint(c, free) for j in Join(product, free or {}).apart())
