"""Random well-typed closed terms of the source calculus, made from the wanted type downwards.

``Queries.bag(T, …)`` makes a term whose rows fit ``T`` (they may be less nullable); ``source`` one of any rows. Each
step spends fuel, and without fuel the smallest fitting term is taken, so no draw is rejected. Alternatives are listed
simplest first, which is the way hypothesis shrinks.
"""

from collections.abc import Callable, Iterator

from attrs import evolve, field, frozen

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.functions.folds import EXACT_KINDS, result_type
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.surface.readings import BagTerm
from ripplenest.nrc.surface.sets import combined
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Empty,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Let,
    LetVar,
    Lit,
    Neg,
    Order,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import BOOL, EXISTS, INT, UNIT, Bag, Base, Record, Type, is_plain, join
from ripplenest.nrc.values import INT_BITS
from ripplenest.nrc.walk import Names
from support.choices import Choices
from support.schemas import FIELDS, KINDS, MAX_DEPTH, Schema, base_type, base_value, record_type

VARIABLES = ("x", "y", "m", "l", "g", "b")  # few, so that binders shadow; m, l and g are also what passes call theirs
LETS = ("X", "Y")
FUEL = 9
LARGE = 12  # steps, of two or three nodes each


@frozen
class Scope:
    """The variables that a term may use: Π, Γ and the relations."""

    schema: Schema
    pi: dict[str, Type] = field(factory=dict)
    gamma: dict[str, Bag] = field(factory=dict)

    def bind(self, var: str, row: Type) -> "Scope":
        return evolve(self, pi={**{n: t for n, t in self.pi.items() if n != var}, var: row})

    def bind_let(self, name: str, bag: Bag) -> "Scope":
        return evolve(self, gamma={**self.gamma, name: bag})

    def paths(self) -> Iterator[tuple[Elem, Type]]:
        """Every x.f.g, those of the innermost variable first."""
        for name, t in reversed(self.pi.items()):
            yield from _paths(Var(name), t)

    def fitting(self, t: Type) -> list[Elem]:
        return [path for path, found in self.paths() if join(found, t) == t]

    def base_paths(self) -> list[tuple[Elem, Base]]:
        return [(path, t) for path, t in self.paths() if isinstance(t, Base)]


def _paths(elem: Elem, t: Type) -> Iterator[tuple[Elem, Type]]:
    yield elem, t
    if isinstance(t, Record):
        for name, inner in t.fields:
            yield from _paths(Proj(elem, name), inner)


def has_bag_leaf(t: Type) -> bool:
    return isinstance(t, Bag) or (isinstance(t, Record) and any(has_bag_leaf(f) for _, f in t.fields))


class Queries:
    """One query in the making. Sites are numbered, so that each occurrence of ``sng_ι`` has its own."""

    def __init__(self, c: Choices, schema: Schema, groups: bool = False, weights: bool = False) -> None:
        self.c = c
        self.groups, self.weights = groups, groups or weights
        self.schema = schema
        self.sites = 0
        self.steps = 0
        self.positive = 0  # inside how many groups: what is grouped has no ⊖

    def spend(self, fuel: int) -> int:
        """The fuel that is left: none once the whole term has become large."""
        self.steps += 1
        return fuel if self.steps <= LARGE else 0

    def pick(self, options: list[Callable[[], Expr]]) -> Expr:
        return self.c.pick(options)()

    def site(self) -> str:
        self.sites += 1
        return f"ι{self.sites}"

    def variable(self) -> str:
        return self.c.pick(VARIABLES)

    # ------------------------------------------------------------ types

    def row(self, depth: int) -> Type:
        """The rows of a result: its bags nest at most ``depth`` deep."""
        choice = self.c.number(12)
        if choice < 7:
            return self.record(depth)
        if choice < 9:
            return self.c.pick([row for _, row in self.schema.relations])
        if choice == 9:
            return Record((("_1", self.row(depth - 1)), ("_2", self.row(0)))) if depth > 0 else UNIT
        return Bag(self.row(depth - 1), False) if choice == 10 and depth > 0 else base_type(self.c)

    def record(self, depth: int) -> Record:
        fields: list[tuple[str, Type]] = []
        for name in FIELDS[: 1 + self.c.number(3)]:
            inner = depth > 0 and self.c.number(5) >= 2
            bag = inner and Bag(self.row(depth - 1), self.c.one_in(4))
            fields.append((name, bag or Base(self.c.pick(KINDS), self.c.number(3) > 0)))
        return Record(tuple(fields))

    # ------------------------------------------------------------ bags of wanted rows

    def bag(self, t: Type, scope: Scope, fuel: int) -> Expr:
        """A term whose rows fit ``t``."""
        fuel = self.spend(fuel)
        if self.steps > 2 * LARGE:
            return Empty(t)
        options: list[Callable[[], Expr]] = [lambda: self.one(t, scope, fuel)] * 2
        options += [lambda e=e: e for e in self.stored(t, scope)]  # type: ignore[misc]
        if t == UNIT:
            options += [lambda: Pred(self.condition(scope, 2))] * 2
        if fuel <= 0:
            return self.pick(options)
        options += [lambda: self.comprehension(t, scope, fuel)] * 8
        options += [lambda: Plus(self.bag(t, scope, fuel // 2), self.bag(t, scope, fuel // 2))] * 2
        if not self.positive:
            options += [lambda: Neg(self.bag(t, scope, fuel - 1))]
        options += [lambda: Empty(t) if self.c.one_in(4) else Plus(Empty(t), self.bag(t, scope, fuel - 1))]
        options += [lambda: Flatten(self.bag(Bag(t, self.c.number(2) == 1), scope, fuel - 1))]
        options += [lambda: self.let(lambda inner, left: self.bag(t, inner, left), scope, fuel)]
        if isinstance(t, Record) and t.names == ("_1", "_2"):
            pair = t.fields
            options += [lambda: Product(*(self.bag(f, scope, fuel // 2) for _, f in pair))] * 8
        return self.pick(options)

    def stored(self, t: Type, scope: Scope) -> list[Expr]:
        """Relations, let-variables and inner bags of variables whose rows fit."""
        found: list[Expr] = [Rel(name, row) for name, row in self.schema.relations if join(row, t) == t]
        found += [LetVar(name) for name, bag in self.lets(scope).items() if join(bag.row, t) == t]
        return found + [Flatten(Sng(path)) for path in scope.fitting(Bag(t, True))]

    def comprehension(self, t: Type, scope: Scope, fuel: int) -> Expr:
        """for x in e₁ [where p] union e₂"""
        var, source = self.variable(), self.source(scope, fuel // 2)
        inner = scope.bind(var, expr_type(source, scope.gamma, scope.pi).row)
        where = self.condition(inner, 2) if self.c.number(3) == 0 else None
        body = self.weighed(self.bag(t, inner, fuel // 2), inner)
        return For(var, source, body if where is None else For("_", Pred(where), body))

    def let(self, body: Callable[[Scope, int], Expr], scope: Scope, fuel: int) -> Expr:
        """let X := e₁ in e₂"""
        name, bound = self.c.pick(LETS), self.source(scope, fuel // 2)
        return Let(name, bound, body(scope.bind_let(name, expr_type(bound, scope.gamma, scope.pi)), fuel // 2))

    def one(self, t: Type, scope: Scope, fuel: int) -> Expr:
        """sng(t), or sng_ι(e), or a head whose inner bags are bound first: for b in sng_ι(e) union sng(⟨…, f: b⟩)"""
        if isinstance(t, Bag) and not (scope.fitting(t) and self.c.number(2)):
            return SngBag(self.site(), self.bag(t.row, scope, fuel - 1))
        bound: list[tuple[str, Expr]] = []
        elem, scope = self.head(t, scope, fuel, bound)
        result: Expr = Sng(elem)
        for var, source in reversed(bound):
            result = For(var, source, result)
        return result

    def head(self, t: Type, scope: Scope, fuel: int, bound: list[tuple[str, Expr]]) -> tuple[Elem, Scope]:
        """An element that fits ``t``; ``bound`` gets the inner bags that it needs, and the scope their variables."""
        known = scope.fitting(t)
        if known and not isinstance(t, Base) and self.c.number(3):
            return self.c.pick(known), scope
        match t:
            case Record(fields):
                elems: list[tuple[str, Elem]] = []
                for name, f in fields:
                    made = (Lit(True, BOOL), scope) if name == EXISTS else self.head(f, scope, fuel // 2, bound)
                    elem, scope = made
                    elems.append((name, elem))
                return Tuple(tuple(elems)), scope
            case Bag(row):
                bag = SngBag(self.site(), self.bag(row, scope, fuel // 2))
                var = f"b{self.sites}"  # a head reads all that it binds and what is outside, so this must not shadow
                bound.append((var, bag))
                return Var(var), scope.bind(var, expr_type(bag, scope.gamma, scope.pi).row)
            case Base():
                return self.scalar(t, scope, 1), scope
            case _:
                raise AssertionError(f"not a type of nested data: {t}")

    # ------------------------------------------------------------ bags of any rows

    def source(self, scope: Scope, fuel: int) -> Expr:
        """What a ``for`` or ``let`` ranges over."""
        fuel = self.spend(fuel)
        options: list[Callable[[], Expr]] = [lambda r=r: Rel(*r) for r in self.schema.relations]  # type: ignore[misc]
        inner = [path for path, t in scope.paths() if isinstance(t, Bag)]
        options += [lambda p=p: Flatten(Sng(p)) for p in inner[:4]] * 3
        options += [lambda n=n: LetVar(n) for n in self.lets(scope)] * 2
        if fuel <= 0:
            return self.pick(options)
        options *= 3
        options += [lambda: Product(self.source(scope, fuel // 2), self.source(scope, fuel // 2))]
        options += [lambda: self.filtered(scope, fuel), lambda: self.doubled(scope, fuel)]
        options += [lambda: self.let(self.source, scope, fuel)]
        options += [lambda: SngBag(self.site(), self.source(scope, fuel - 1))]
        options += [lambda: self.group(scope, fuel)] * (4 if self.groups else 0)
        options += [lambda: self.counted(lambda: self.compared(scope, fuel))] * (2 if self.groups else 0)
        options += [lambda: self.top(scope, fuel)] * (3 if self.groups else 0)
        options += [lambda: self.bag(record_type(self.c, 1, 2), scope, fuel // 2)]
        return self.pick(options)

    def lets(self, scope: Scope) -> dict[str, Bag]:
        """The let-variables that may stand here: those outside of a group may have negative rows."""
        return {} if self.positive else scope.gamma

    def group(self, scope: Scope, fuel: int) -> Expr:
        """γ or φ over rows that are there, by up to two of their values"""
        var, site = self.variable(), self.site()
        of = self.counted(lambda: self.source(scope, fuel // 2))
        inner = scope.bind(var, expr_type(of, scope.gamma, scope.pi).row)
        paths = inner.base_paths()
        keys = None
        if paths and self.c.number(2):
            keys = tuple((f"k{i}", self.c.pick(paths)[0]) for i in range(1 + self.c.number(2)))
        return Group(site, var, of, keys, self.folds(paths, 0 if keys else 1))

    def top(self, scope: Scope, fuel: int) -> Expr:
        """τ over rows that are there, of base values"""
        var, site = self.variable(), self.site()
        of = self.counted(lambda: self.source(scope, fuel // 2))
        row = expr_type(of, scope.gamma, scope.pi).row
        inner = scope.bind(var, row)
        if not is_plain(row):
            own = [path for path, _ in inner.base_paths() if _root(path) == Var(var)][:3]
            of = For(var, of, Sng(Tuple(tuple((f"c{i}", path) for i, path in enumerate(own)))))
            inner = scope.bind(var, expr_type(of, scope.gamma, scope.pi).row)
        return Top(site, var, of, tuple(self.order(inner) for _ in range(self.c.number(2))), 1 + self.c.number(3))

    def order(self, scope: Scope) -> Order:
        """Mostly a column of the rows"""
        paths = scope.base_paths()
        path, t = self.c.pick(paths[:4]) if paths else (Lit(True, Base("bool")), Base("bool"))
        by = self.scalar(t, scope, 1) if self.c.one_in(4) else path
        return Order(by, self.c.number(2) == 1, self.c.one_in(4))

    def counted(self, make: Callable[[], Expr]) -> Expr:
        """What ``make`` makes as what a group is of: of rows that are there"""
        self.positive += 1
        found = make()
        self.positive -= 1
        return found

    def folds(self, paths: list[tuple[Elem, Base]], least: int) -> tuple[Fold, ...]:
        found = []
        for i in range(least + self.c.number(2)):
            fn, args = self.fold(paths)
            t = result_type(fn, [t for _, t in args])
            found.append(Fold(f"f{i}", fn, tuple(a for a, _ in args), t))
        return tuple(found)

    def fold(self, paths: list[tuple[Elem, Base]]) -> tuple[str, list[tuple[Elem, Base]]]:
        numbers = [path for path in paths if path[1].kind in EXACT_KINDS]
        truths = [path for path in paths if path[1].kind == "bool"]
        extremes = ["max", "min"] * bool(paths)
        sums = [*["sum", "sum", "avg"] * bool(numbers), *["any", "all"] * bool(truths), "count", "any"]
        fn = self.c.pick([*sums, *extremes])
        match fn:
            case "max" | "min":
                return fn, [self.c.pick(paths)]
            case "sum":
                return fn, [self.c.pick(numbers) for _ in range(1 + self.c.one_in(3))]
            case "avg":
                return fn, [self.c.pick(numbers)]
            case "all":
                return fn, [self.c.pick(truths)]
            case "any":
                return fn, [self.c.pick(truths)] if truths and self.c.number(2) else []
            case _:
                return fn, [self.c.pick(paths)] if paths and self.c.number(2) else []

    def filtered(self, scope: Scope, fuel: int) -> Expr:
        """for x in e where p union sng(x)"""
        var, source = self.variable(), self.source(scope, fuel // 2)
        inner = scope.bind(var, expr_type(source, scope.gamma, scope.pi).row)
        return For(var, source, For("_", Pred(self.condition(inner, 1)), self.weighed(Sng(Var(var)), inner)))

    def weighed(self, e: Expr, scope: Scope) -> Expr:
        """for _ in w(t) union e, for some e"""
        return For("_", Weigh(self.weight(scope)), e) if self.weights and self.c.number(4) == 3 else e

    def compared(self, scope: Scope, fuel: int) -> Expr:
        """The difference of two bags, or what they have in common"""
        left = self.source(scope, fuel // 2)
        t = expr_type(left, scope.gamma, scope.pi)
        if has_bag_leaf(t.row):
            return left
        right = BagTerm(self.bag(t.row, scope, fuel // 2), t)
        word = self.c.pick(("difference", "intersect"))
        return combined(word, BagTerm(left, t), right, self.site(), Names(frozenset(scope.pi))).expr

    def doubled(self, scope: Scope, fuel: int) -> Expr:
        """e₁ ⊎ e₂ with the rows of e₁; or (R ⊎ e) ⊎ R, whose contexts unite what they partly share"""
        source = self.source(scope, fuel // 2)
        t = expr_type(source, scope.gamma, scope.pi).row
        both = Plus(source, self.bag(t, scope, fuel // 2))
        return Plus(both, source) if isinstance(source, Rel) and self.c.number(2) else both

    # ------------------------------------------------------------ scalars

    def literal(self, t: Base) -> Elem:
        return Lit(base_value(self.c, t), t)

    def scalar(self, t: Base, scope: Scope, depth: int) -> Elem:
        """A base value that fits ``t``: mostly a field."""
        known = scope.fitting(t)
        choice = self.c.number(10)
        if not known or choice == 0:
            return self.literal(t)
        if depth == 0 or choice < 7:
            return self.c.pick(known)
        return self.call(t, scope)

    def call(self, t: Base, scope: Scope) -> Elem:
        """One function of a field and a literal: values grow by a small constant, so that nothing overflows."""
        a, b = self.scalar(t, scope, 0), self.literal(t)
        choice = self.c.number(3)
        if choice == 0:
            return Call("if", (self.condition(scope, 0), a, b))
        if choice == 1:
            return Call("coalesce", (a, b))
        match t.kind:
            case "long":
                return Call(self.c.pick(("add_long", "sub_long", "mul_long")), (a, b))
            case "double":
                return Call("add_double", (a, b))
            case "string":
                return Call("concat", (a, b))
            case _:
                return self.condition(scope, 0) if t.nullable else Call("is_true", (self.condition(scope, 0),))

    def weight(self, scope: Scope) -> Elem:
        """An integer, mostly small: a field, a constant, what is above or below one; below a group never negative"""
        paths = [(path, t) for path, t in scope.base_paths() if t.kind in INT_BITS]
        path, t = self.c.pick(paths) if paths else (Lit(self.c.pick((2, 0, None)), Base("int", True)), INT)
        t = Base(t.kind)
        some, few = (Lit(self.c.pick((1, 2, 3)), t) for _ in range(2))
        choice = self.c.number(6)
        if choice < 2:
            return Call(f"monus_{t.kind}", (path, some) if choice else (some, Call(f"least_{t.kind}", (path, few))))
        if choice == 2 or self.positive:
            return Call("if", (self.condition(scope, 0), some, few))
        return path if choice < 5 else Lit(-2, t)

    def condition(self, scope: Scope, depth: int) -> Elem:
        """Mostly equalities between fields of one kind, of different variables where there are some."""
        paths = scope.base_paths()
        if not paths:
            return Lit(self.c.pick((True, True, True, None, False)), Base("bool", True))
        choice = self.c.number(12)
        bags = [path for path, t in scope.paths() if isinstance(t, Bag)] if choice == 5 else []
        if bags:
            null = Call("is_null", (self.c.pick(bags),))
            return self.c.pick((Call("not", (null,)), null))
        if depth > 0 and choice >= 7:
            if choice == 7:
                return Call("not", (self.condition(scope, depth - 1),))
            fn = "and" if choice == 8 else "or"
            return Call(fn, (self.condition(scope, depth - 1), self.condition(scope, depth - 1)))
        a, t = self.c.pick(paths)
        if choice == 6:
            null = Call("is_null", (a,))
            return self.c.pick((Call("not", (null,)), null)) if t.kind != "bool" else a
        b = self.partner(a, t, paths)
        fn = "eq" if choice < 4 else self.c.pick(("eq", "same", "ne", "le", "lt", "ge", "gt"))
        return Call(fn, (a, b))

    def partner(self, a: Elem, t: Base, paths: list[tuple[Elem, Base]]) -> Elem:
        """What to compare ``a`` with: a field of another variable, else of its own, else a constant."""
        same = [path for path, other in paths if other.kind == t.kind and path != a]
        far = [path for path in same if _root(path) != _root(a)]
        if self.c.number(5) == 0 or not same:
            return self.literal(t if self.c.one_in(6) else Base(t.kind))
        return self.c.pick(far or same)


def _root(t: Elem) -> Elem:
    while isinstance(t, Proj):
        t = t.of
    return t


def grouped_query(c: Choices, schema: Schema) -> Expr:
    """A closed term that may hold groups, at any place where a bag may stand; drawn again where what is grouped is an
    inner bag of rows that could be there less than 0 times."""
    while True:
        found = random_query(c, schema, groups=True)
        try:
            check_positive(found)
        except QueryError:
            continue
        return found


def weighed_query(c: Choices, schema: Schema) -> Expr:
    """A closed term without groups, whose rows may be there as often as values say."""
    return random_query(c, schema, weights=True)


def random_query(c: Choices, schema: Schema, fuel: int = FUEL, groups: bool = False, weights: bool = False) -> Expr:
    """A closed term over ``schema`` whose result nests at most 3 deep; perhaps with ``groups`` or ``weights``."""
    make = Queries(c, schema, groups, weights)
    row = make.row(c.number(MAX_DEPTH))
    return make.comprehension(row, Scope(schema), fuel) if c.number(4) else make.bag(row, Scope(schema), fuel)
