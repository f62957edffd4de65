"""Random sums of products of a few generators, and groups of such."""

from ripplenest.nrc.functions.folds import EXACT_KINDS, result_type
from ripplenest.nrc.paths import root
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Lit,
    Pred,
    Proj,
    Rel,
    Sng,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Base, Record, Type, nullable
from support.choices import Choices
from support.queries import Queries
from support.schemas import Schema


def of_numbers(x: Base, y: Base) -> Schema:
    """Flat relations with columns of these types beside integers."""
    row = Record((("a", LONG), ("b", nullable(LONG)), ("x", x), ("y", y), ("z", Base("int"))))
    return Schema((("R", row), ("S", row), ("T", Record((("b", LONG), ("x", x))))))


MONEY, LARGE = Base("decimal", True, 19, 2), Base("decimal", True, 38, 6)
OF_NUMBERS = of_numbers(MONEY, LARGE)
OF_FEW_DIGITS = of_numbers(Base("decimal", True, 12, 2), Base("decimal", False, 5))


def joins(c: Choices, schema: Schema, weighed: bool = False, least: int = 0) -> Expr:
    """for x₀ in …, x₁ in … where two or more of their columns are equal union sng(⟨a few columns⟩), as often as some
    other columns say where ``weighed``; at ``least`` so many columns."""
    generators: list[tuple[str, Expr]] = []
    columns: list[tuple[Elem, Base]] = []
    for i in range(2 + c.number(3)):
        bags = [(Var(x), t) for x, t in _rows(generators)]
        inner = [Flatten(Sng(path)) for x, t in bags for path, u in _paths(x, t) if isinstance(u, Bag)]
        source = c.pick([*(Rel(name, row) for name, row in schema.relations), *inner, *inner])
        generators.append((f"x{i}", source))
    for x, t in _rows(generators):
        columns += [(path, u) for path, u in _paths(Var(x), t) if isinstance(u, Base)]
    wide = least + c.number(3)
    body: Expr = Sng(Tuple(tuple((f"f{i}", c.pick(columns)[0]) for i in range(wide))) if columns else Tuple(()))
    numbers = [path for path, t in columns if t.kind == "long"] if weighed else []
    for _ in range(1 + c.number(2) if numbers else 0):
        body = For("_", Weigh(_times(c, numbers)), body)
    pairs = [(a, b) for a, t in columns for b, u in columns if t.kind == u.kind and str(root(a)) < str(root(b))]
    for _ in range(min(len(pairs), c.number(len(generators) + 1))):
        body = For("_", Pred(Call("eq" if c.number(4) else "le", c.pick(pairs))), body)
    for x, source in reversed(generators):
        body = For(x, source, body)
    return body


def _times(c: Choices, numbers: list[Elem]) -> Elem:
    """A column, or what two come to: of one part or of several, and perhaps with no value for some numbers."""
    a, b = c.pick(numbers), c.pick((Lit(2, LONG), *numbers))
    return c.pick((a, Call("monus_long", (b, a)), Call("least_long", (a, b)), Call("neg_long", (a,))))


def _rows(generators: list[tuple[str, Expr]]) -> list[tuple[str, Type]]:
    found: dict[str, Type] = {}
    for x, source in generators:
        if isinstance(source, Rel):
            found[x] = source.row
        else:
            assert isinstance(source, Flatten)
            assert isinstance(source.of, Sng)
            bag = dict(path for y, t in found.items() for path in _paths(Var(y), t))[source.of.elem]
            assert isinstance(bag, Bag)
            found[x] = bag.row
    return list(found.items())


def _paths(at: Elem, t: Type) -> list[tuple[Elem, Type]]:
    if isinstance(t, Record):
        return [found for name, inner in t.fields for found in _paths(Proj(at, name), inner)]
    return [(at, t)]


def grouped_joins(c: Choices, schema: Schema) -> Expr:
    """γ or φ of the rows of ``joins``, by up to two of their columns; or φ of those that have something in common with
    each row of a relation."""
    rows = joins(c, schema, least=3)
    row = check(rows).row
    paths = [(path, t) for path, t in _paths(Var("g"), row) if isinstance(t, Base)]
    folds = Queries(c, schema, groups=True).folds(paths, 1)
    if paths and c.number(3):
        keys = tuple((f"k{i}", c.pick(paths)[0]) for i in range(1 + c.number(2)))
        return Group("γ", "g", rows, keys, folds)
    around, of = c.pick(schema.relations)
    outer = [(path, t) for path, t in _paths(Var("o"), of) if isinstance(t, Base)]
    pairs = [(a, b) for a, t in paths for b, u in outer if t.kind == u.kind]
    if not pairs:
        return Group("γ", "g", rows, None, folds)
    a, b = c.pick(pairs)
    own = For("g", rows, For("_", Pred(Call(c.pick(("eq", "same")), (a, b))), Sng(Var("g"))))
    found = Sng(Tuple((("o", b), ("of", Var("f")))))
    return For("o", Rel(around, of), For("f", Group("γ", "g", own, None, folds), found))


def grouped_chain(c: Choices, schema: Schema) -> Expr:
    """γ or φ of two to four relations, each joined with the one before: folds of the columns of some of them."""
    rels = [(f"x{i}", *c.pick(schema.relations)) for i in range(2 + c.number(3))]
    columns = {x: [(path, t) for path, t in _paths(Var(x), row) if isinstance(t, Base)] for x, _, row in rels}
    every = [found for x, _, _ in rels for found in columns[x]]
    names = {path: f"f{i}" for i, (path, _) in enumerate(every)}
    body: Expr = Sng(Tuple(tuple((names[path], path) for path, _ in every)))
    for (x, name, row), before in zip(reversed(rels), [*reversed([x for x, _, _ in rels[:-1]]), None], strict=True):
        pairs = [(a, b) for a, t in columns[x] for b, u in columns.get(before or "", []) if t.kind == u.kind == "long"]
        body = For("_", Pred(Call("eq", c.pick(pairs))), body) if pairs else body
        body = For(x, Rel(name, row), body)
    paths: list[tuple[Elem, Base]] = [(Proj(Var("g"), names[path]), t) for path, t in every]
    keys = tuple((f"k{i}", c.pick(paths)[0]) for i in range(1 + c.number(2))) if c.number(4) else None
    folds = Queries(c, schema, groups=True).folds(paths, 1)
    return Group("γ", "g", body, keys, products(c, paths) if c.one_in(2) else folds)


def products(c: Choices, paths: list[tuple[Elem, Base]]) -> tuple[Fold, ...]:
    """Sums and averages of products of two or three of these columns, or of what an integer is as a long, and how many
    rows have one of them."""
    numbers = [path for path in paths if path[1].kind in EXACT_KINDS]
    numbers += [(Call("to_long", (path,)), LONG) for path, t in numbers if t == Base("int")]
    found = []
    for i in range(1 + c.number(3)):
        fn = c.pick(("sum", "sum", "avg", "count"))
        args = [c.pick(numbers) for _ in range(1 if fn == "count" else 2 + c.number(2))]
        found.append(Fold(f"f{i}", fn, tuple(a for a, _ in args), result_type(fn, [t for _, t in args])))
    return tuple(found)
