"""One Python expression to one reading: the ``match`` over the syntax that a view may contain.

Everything that is not a case here ends in ``hints``: an error with the place and the nearest supported form.
"""

import ast
from collections.abc import Sequence
from functools import partial

from ripplenest.nrc.errors import TypeMismatch, Unsupported
from ripplenest.nrc.surface import beside
from ripplenest.nrc.surface.python import (
    advice,
    aggregates,
    best,
    choices,
    constants,
    elapsed,
    hints,
    inline,
    moments,
    parts,
    pivot,
    ranking,
    scalars,
    sets,
    spans,
    truths,
    tuples,
)
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import (
    BagTerm,
    Element,
    Reading,
    Static,
    Untyped,
    alike,
    as_bag,
    as_element,
    describe,
    guard,
    is_bag,
    made_of,
    plus,
    project,
    singleton,
    tuple_of,
)
from ripplenest.nrc.syntax import For, Neg, Product, Var
from ripplenest.nrc.types import EXISTS, Bag, Record, Type, places


def read(node: ast.expr, scope: Scope) -> Reading:
    """What ``node`` means in ``scope``. Called through ``Scope.read``, which knows the place of an error."""
    match node:
        case ast.Constant(value):
            return _constant(value)
        case ast.Name(name):
            return scalars.settle(scope.look_up(name))
        case ast.Attribute(ast.BinOp(later, ast.Sub() as op, earlier), "days"):
            return _days(op, scope.read(later), scope.read(earlier), scope)
        case ast.Attribute(value, name):
            of = scope.read(value)
            with advice.advising(parts.of_extreme(value, name)):
                return parts.attribute(of, name, scope)
        case ast.Subscript():
            return parts.subscript(node, scope)
        case ast.ListComp(elt, generators):
            return _comprehension(elt, generators, scope)
        case ast.SetComp(elt, generators):
            return aggregates.distinct(_comprehension(elt, generators, scope), scope)
        case ast.Set(elts):
            return aggregates.distinct(_list(elts, scope), scope)
        case ast.List(elts):
            return _list(elts, scope)
        case ast.Tuple(elts):
            return _record([*zip(places(len(elts)), elts, strict=True)], scope)
        case ast.Dict(keys, values):
            return _dict(keys, values, scope)
        case ast.DictComp(_, value):
            fields = pivot.fields(node, _collection, scope)
            return tuple_of({name: _field(name, value, inner) for name, inner in fields})
        case ast.BinOp(left, ast.Mult() as op, right):  # pairs, whose sides are of types of their own
            return _binary(op, scope.read(left), scope.read(right), scope)
        case ast.BinOp(left, op, right):
            one, other = beside.side_by_side([partial(scope.read, left), partial(scope.read, right)], scope.wanted)
            one, other = constants.beside_bags([one, other], node, scope)
            return _binary(op, one, other, scope)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as n)) if not isinstance(n, bool):
            return scalars.literal(-n)
        case ast.UnaryOp(ast.Not(), operand):
            return scalars.apply("not", [choices.truth(operand, scope)])
        case ast.UnaryOp(op, operand):
            return _unary(op, scope.read(operand))
        case ast.BoolOp(ast.Or(), [value, ast.List([])]):
            return choices.coalesce([scope.read(value), Untyped("[]")], scope)
        case ast.BoolOp(op, values):
            return choices.joined(op, values, scope)
        case ast.Compare(left, ops, comparators):
            if (parted := tuples.compared(node)) is not None:
                return scope.read(parted)
            if (found := _among_tuples(node, scope)) is not None:
                return found
            first = scope.read(left)
            if (absent := best.is_absent(first, node, scope)) is not None:
                return absent
            turns = scope.in_turn(comparators)
            rights = [_right(op, c, s) for op, (c, s) in zip(ops, turns, strict=True)]
            first, others = elapsed.in_numbers(first, rights)
            among = lambda x, bag: aggregates.among(x, bag, scope)  # noqa: E731
            of_sets = lambda a, op, b: sets.compared(op, [a, b], scope)  # noqa: E731
            return scalars.compare(first, ops, others, among, of_sets, partial(_beside, node, scope))
        case ast.IfExp(test, body, orelse):
            cond = choices.truth(test, scope)
            if (is_so := truths.known(cond)) is not None:
                return scope.read(body if is_so else orelse)
            sides = [partial(scope.perhaps().read, side) for side in (body, orelse)]
            yes, no = beside.side_by_side(sides, scope.wanted)
            return choices.conditional(cond, yes, no, scope)
        case ast.NamedExpr(ast.Name(name), value):
            scope.assign(name, named := scope.read(value))
            return named
        case ast.JoinedStr(values):
            return scalars.strings([_part(v, scope) for v in values])
        case ast.Call():
            return inline.call(node, scope)
        case _:
            raise hints.of_node(node)


def _constant(value: object) -> Reading:
    if value is Ellipsis or isinstance(value, complex):
        raise Unsupported(f"a view cannot contain {value!r}", possible=["bool, int, float, str, bytes and None"])
    return scalars.literal(value)


def _days(op: ast.Sub, later: Reading, earlier: Reading, scope: Scope) -> Reading:
    """(a - b).days"""
    if spans.of(later) is None and spans.of(earlier) is None:
        return scalars.days_between(later, earlier)
    return parts.attribute(_binary(op, later, earlier, scope), "days", scope)


# ---------------------------------------------------------------- bags


def _comprehension(elt: ast.expr, generators: Sequence[ast.comprehension], scope: Scope) -> BagTerm:
    """[elt for x in e₁ if p for …] = for x in e₁ union for _ in p union … sng(elt)."""
    if not generators:
        return _single(elt, scope, scope.wanted)
    first, rest = generators[0], generators[1:]
    if first.is_async:
        raise hints.unsupported("an async comprehension", "`[... for x in xs]`")
    with scope.located(first.iter):
        source = as_bag(_rows(first.iter, scope))
    var, inner = _target(first.target, source.type.row, scope)
    conds = [choices.kept(test, inner) for test in first.ifs]
    with scope.session.level():  # each `for` is one level deeper, like a comprehension inside
        body = _comprehension(elt, rest, inner)
    expr = body.expr
    for cond in reversed(conds):
        expr = guard(cond, expr, scope.session.names)
    order = ranking.order_of(source, var, expr, generators, scope)
    return BagTerm(For(var, source.expr, expr), body.type, order)


def _rows(node: ast.expr, scope: Scope) -> Reading:
    """What a ``for`` goes through: a bag, or what is written as a tuple, or a collection of constants."""
    if isinstance(node, ast.Tuple):
        return _list(node.elts, scope)
    found = _collection(node, scope)
    rows = constants.rows(found.value, node) if isinstance(found, Static) else None
    return found if rows is None else scope.read(rows)


def _target(target: ast.expr, row: Type, scope: Scope) -> tuple[str, Scope]:
    """The variable of a ``for``, and the scope in which the target's names are bound."""
    var = scope.fresh(target.id if isinstance(target, ast.Name) else "row")
    with scope.located(target):
        return var, scope.bind(dict(_targets(target, Element(Var(var), row))))


def _targets(target: ast.expr, value: Element) -> list[tuple[str, Reading]]:
    """``x``, or ``a, b`` over rows ⟨_1, _2⟩, at any depth."""
    match target:
        case ast.Name(name):
            return [(name, value)]
        case ast.Tuple(elts) | ast.List(elts):
            names = places(len(elts))
            if not isinstance(value.type, Record) or value.type.there.names != names:
                possible = ["one name, and its fields: `for x in xs`, x.name", "rows of a product or of tuples"]
                possible = _nested(elts, value.type) or possible
                what = f"cannot unpack these rows into {len(elts)} names"
                raise Unsupported(what, wanted=", ".join(names), got=value.type, possible=possible)
            return [pair for n, t in zip(names, elts, strict=True) for pair in _targets(t, project(value, n))]
        case _:
            raise hints.unsupported("this as the target of a for", "one name, `for x in xs`")


def _nested(elts: Sequence[ast.expr], row: Type) -> list[str]:
    """``(a, b), xs`` where ``a, b, xs`` was written, of rows whose first part has so many."""
    *first, last = map(ast.unparse, elts)
    if isinstance(row, Record) and row.names == places(2) and first:
        key = row.get("_1")
        if isinstance(key, Record) and key.there.names == places(len(first)):
            return [f"`for ({', '.join(first)}), {last} in ...`"]
    return []


def _single(elt: ast.expr, scope: Scope, wanted: Type | None) -> BagTerm:
    """sng(elt), of which a bag is ``wanted``."""
    with scope.located(elt):
        return singleton(_value(elt, scope, beside.rows_of(wanted)), scope.site)


def _value(node: ast.expr, scope: Scope, wanted: Type | None) -> Element | BagTerm:
    """What a head or a field may hold."""
    reading = scalars.settle(best.settled(scope.read(node, wanted), scope))
    match beside.typed(reading, wanted, scope.site, scope.session.names):
        case (Element() | BagTerm()) as found:
            return found
        case other:
            possible = made_of(other) if spans.of(other) is None else [spans.SECONDS, spans.DAYS, spans.ADDED]
            possible = possible or constants.made_of(other)
            what, value = "this is not a value", "a base value, record or bag"
            raise TypeMismatch(what, wanted=value, got=describe(other), possible=possible)


def _list(elts: Sequence[ast.expr], scope: Scope) -> Reading:
    """[] = ∅, [a, b] = sng(a) ⊎ sng(b), [*xs, a] = xs ⊎ sng(a)."""
    if not elts:
        return Untyped("[]")
    found = beside.side_by_side([partial(_element, e, scope) for e in elts], scope.wanted)
    return plus([as_bag(r) for r in found], "the elements of a list")


def _element(elt: ast.expr, scope: Scope, wanted: Type | None) -> BagTerm:
    if not isinstance(elt, ast.Starred):
        return _single(elt, scope, wanted)
    reading = aggregates.listed(elt.value, scope, wanted)
    with scope.located(elt):
        return as_bag(reading)


def _dict(keys: Sequence[ast.expr | None], values: Sequence[ast.expr], scope: Scope) -> Element:
    """⟨key: value, …⟩; ``**row`` adds the fields of a row. A later field replaces one of those, in its place."""
    fields: dict[str, Element] = {}
    written = set[str]()
    for key, value in zip(keys, values, strict=True):
        match key:
            case None:
                fields |= _spread(value, scope)
            case ast.Constant(str() as name):
                if name in written or name == EXISTS:
                    what = "a name that is ours" if name == EXISTS else "a record has each field once"
                    with scope.located(key):
                        raise Unsupported(what, got=name)
                written.add(name)
                fields[name] = _field(name, value, scope)
            case _:
                with scope.located(key):
                    raise hints.unsupported("a key that is not a literal string", "`{'name': ...}`")
    return tuple_of(fields)


def _record(pairs: Sequence[tuple[str, ast.expr]], scope: Scope) -> Element:
    return tuple_of({name: _field(name, value, scope) for name, value in pairs})


def _field(name: str, node: ast.expr, scope: Scope) -> Element:
    inner = scope.within(name)
    with scope.located(node):
        value = _value(node, inner, beside.field_of(scope.wanted, name))
        return as_element(value, inner.site, scope.session.names)


def _spread(node: ast.expr, scope: Scope) -> dict[str, Element]:
    row = scope.read(node)
    if isinstance(row, Element) and isinstance(row.type, Record):
        return {name: project(row, name) for name in row.type.there.names}
    with scope.located(node):
        raise TypeMismatch("only the fields of a record can be added by **", wanted="a record", got=describe(row))


# ---------------------------------------------------------------- operators


def _binary(op: ast.operator, left: Reading, right: Reading, scope: Scope) -> Reading:
    """⊎, ⊎⊖ and × between bags, operators of sets, else a scalar operator."""
    if (found := elapsed.combined(op, left, right)) is not None:
        return found
    if not (choices.baglike(left) or choices.baglike(right)):
        return scalars.binary(op, left, right)
    if not (choices.baglike(left) and choices.baglike(right)):
        hint = "`[x]`, the bag of one row" if isinstance(op, ast.Add) else "two bags, or two base values"
        got, possible = f"{describe(left)} and {describe(right)}", made_of(left) or made_of(right) or [hint]
        raise TypeMismatch("a bag beside something else", wanted="bags", got=got, possible=possible)
    if (made := sets.operated(op, left, right, scope)) is not None:
        return made
    match op:
        case ast.Add():
            return plus(alike([left, right]), "the two sides of +")
        case ast.Sub():
            minuend, bag = alike([left, right])
            return plus([minuend, BagTerm(Neg(bag.expr), bag.type)], "the two sides of -")
        case ast.Mult():
            a, b = as_bag(left), as_bag(right)
            return BagTerm(Product(a.expr, b.expr), Bag(Record((("_1", a.type.row), ("_2", b.type.row)))))
        case _:
            hint = hints.OF_BAGS.get(type(op), "`+`, `-` and `*`")
            raise hints.unsupported(f"the operator {hints.symbol(op)} between bags", hint)


def _unary(op: ast.unaryop, operand: Reading) -> Reading:
    if isinstance(op, ast.USub) and is_bag(operand):
        bag = as_bag(operand)
        return BagTerm(Neg(bag.expr), bag.type)
    span = elapsed.negated(operand) if isinstance(op, ast.USub) else None
    return scalars.unary(op, operand) if span is None else span


def _among_tuples(node: ast.Compare, scope: Scope) -> Element | None:
    """``(x, y) in rows``, of tuples; None for another comparison. Raises TypeMismatch for tuples of other lengths."""
    parts = tuples.member(node)
    rows = None if parts is None else _rows(node.comparators[0], scope)
    if parts is None or rows is None or not is_bag(rows):
        return None
    row = as_bag(rows).type.row
    if not isinstance(row, Record) or row.there.names != places(len(row.there.names)):
        return None
    if len(row.there.names) != len(parts):
        raise tuples.of_lengths(len(parts), len(row.there.names))
    equal = scope.bind({tuples.ROWS: rows}).read(tuples.equal_rows(parts, node))
    found = aggregates.exists(as_bag(equal), scope)
    return found if isinstance(node.ops[0], ast.In) else scalars.apply("not", [found])


def _right(op: ast.cmpop, node: ast.expr, scope: Scope) -> Reading | list[Reading]:
    """The right side of a comparison; after ``in``, the members of a display, or a range of constants."""
    match op, node:
        case (ast.In() | ast.NotIn()), (ast.Tuple(elts) | ast.List(elts) | ast.Set(elts)):
            return [scope.read(e) for e in elts]
        case (ast.In() | ast.NotIn()), ast.Dict():
            raise hints.of_dict()
        case (ast.In() | ast.NotIn()), _ if (span := _range(node, scope)) is not None:
            return span
    return scope.read(node)


def _collection(node: ast.expr, scope: Scope) -> Reading:
    return _range(node, scope) or scope.read(node)


def _range(node: ast.expr, scope: Scope) -> Static | None:
    """range(…) of constants, if ``node`` is that."""
    match node:
        case ast.Call(ast.Name() as func, args, []) if scope.read(func) == Static(range):
            with scope.located(node):
                return Static(constants.span([scope.read(arg) for arg in args]))
    return None


def _beside(node: ast.expr, scope: Scope, left: Reading, op: ast.cmpop, right: Reading) -> tuple[Reading, Reading]:
    """The two sides of a comparison, as they are best compared."""
    if not isinstance(op, ast.In | ast.NotIn):
        left, right = constants.beside_bags([left, right], node, scope)
    return elapsed.unmoved(left, op, right)


def _part(node: ast.expr, scope: Scope) -> Reading:
    """One part of an f-string."""
    if not isinstance(node, ast.FormattedValue):
        return scope.read(node)
    with scope.located(node.value):
        found = scope.read(node.value)
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            raise hints.unsupported("a format in an f-string", moments.formatted(node, found))
        return scalars.part(found if node.conversion == -1 else scalars.call(str, "to_string", [found]))
