"""Trees to typed terms: bags, and the sugar that comprehensions in heads and fields are.

What ``show`` prints is read as exactly the term that it was printed from (law 7). Sugar is what ``show`` never prints:
an inner bag where a bag is wanted is flatten(sng(x)), and a bag in a field or in sng is bound by a for over sng_ι of
it, as in the Python surface. Where a bag is wanted, a name is a let-variable, relation or view before it is a variable;
elsewhere a variable first.
"""

from collections.abc import Sequence

from lark import Token, Tree

from ripplenest.nrc.errors import ParseError, TypeMismatch
from ripplenest.nrc.limits import check_type_limits
from ripplenest.nrc.surface import lazily
from ripplenest.nrc.surface.conversions import LONG
from ripplenest.nrc.surface.readings import (
    BagTerm,
    Element,
    Reading,
    Static,
    Untyped,
    alike,
    as_bag,
    as_element,
    guard,
    plus,
    singleton,
    tuple_of,
    wrap,
)
from ripplenest.nrc.surface.text import aggregates, dictionaries, elements, groups, sets
from ripplenest.nrc.surface.text.advice import no_function
from ripplenest.nrc.surface.text.elements import condition, described, is_bag
from ripplenest.nrc.surface.text.groups import sorted_by
from ripplenest.nrc.surface.text.kinds import pair, read_type, subtrees, unique
from ripplenest.nrc.surface.text.names import named, stored
from ripplenest.nrc.surface.text.scope import Scope, is_quoted, part_name, spelled
from ripplenest.nrc.surface.text.trees import Node
from ripplenest.nrc.syntax import Empty, Flatten, For, Let, Neg, Pred, Product, SngBag, Var
from ripplenest.nrc.types import UNIT, Bag, Dict, Record

_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_BAG_GLYPHS = {"PLUS": "BAG_PLUS", "MINUS": "BAG_MINUS", "STAR": "TIMES"}


def read(node: Node, scope: Scope) -> Reading:
    """What ``node`` means in ``scope``: a value or a bag."""
    with scope.at(node):
        return _read(node, scope, False)


def read_bag(node: Node, scope: Scope) -> BagTerm:
    """``node`` where a bag is wanted. Raises TypeMismatch."""
    with scope.at(node):
        return _as_bag(_read(node, scope, True))


def read_element(node: Node, scope: Scope) -> Element:
    """``node`` where one value is wanted. Raises TypeMismatch."""
    reading = read(node, scope)
    if isinstance(reading, Element):
        return reading
    with scope.text.located(node):
        raise TypeMismatch("this must be one value", wanted="a base value, record or label", got=described(reading))


_READERS = groups.Readers(read_bag, read_element)


def _as_bag(reading: Reading) -> BagTerm:
    if isinstance(reading, Untyped):
        possible = ["∅[long]", "a bag beside it"] if is_bag(reading) else ["∅[long]"]
        raise TypeMismatch(f"{described(reading)} has no type here", possible=possible)
    return as_bag(reading)


def _read(node: Node, scope: Scope, bag: bool) -> Reading:
    """``bag``: whether a bag is wanted."""
    children = subtrees(node)
    match node.data:
        case "name":
            return named(node, scope, bag)
        case "new" | "change":
            return stored(part_name(node), scope)
        case "stored":
            return stored(part_name(children[0]), scope, hidden=True)
        case "constant":
            return elements.plain_constant(_token(node))
        case "typed_constant":
            return elements.typed_constant(node.children)
        case "field":
            return _field(children, scope)
        case "parameter":
            of, site, name = children
            return elements.parameter(read(of, scope), spelled(site), spelled(name), scope.env)
        case "call":
            return _call(children, scope)
        case "prefix":
            return _prefix(node, children[0], scope, bag)
        case "infix":
            return _infix(node, children, scope, bag)
        case "is_":
            *_, negated, word = node.children
            return elements.is_test(read(children[0], scope), negated is not None, word == "null")
        case "is_site":
            return elements.is_site(read(children[0], scope), spelled(subtrees(children[1])[0]))
        case "member":
            return _member(children, scope)
        case "for_":
            return _for(children, scope)
        case "where_":
            return _conditions(children[:-1], children[-1], scope)
        case "let_":
            return _let(children, scope)
        case "fold_call":
            return _fold_call(children, scope)
        case "sng":
            return _sng(node, scope)
        case "sorted_":
            return sorted_by(read_bag(children[0], scope), children[1], scope)
        case "group":
            return groups.group(node, scope, _READERS)
        case "top":
            return groups.top(node, scope, _READERS)
        case "empty":
            return _empty(children[0], scope)
        case "list":
            return _list(children, scope)
        case "comprehension":
            return _comprehension(children[0], children[1:], scope)
        case "record":
            return _record(children, scope)
        case "label":
            site, *args = children
            return elements.label(spelled(subtrees(site)[0]), [read(a, scope) for a in args], scope.env)
        case "dictionary":
            raise TypeMismatch("a dictionary stands before the label that it is applied to", wanted="[…](label)")
        case _:
            raise AssertionError(f"no term of the grammar: {node.data}")


def _token(node: Node) -> Token:
    found = next(c for c in node.children if isinstance(c, Token))
    return found


# ---------------------------------------------------------------- fields and operators


def _field(children: Sequence[Node], scope: Scope) -> Element:
    of, name = children
    found, word = read_element(of, scope), spelled(name)
    for step in [word] if is_quoted(name) or _is_whole(found, word) else word.split("."):
        found = elements.project(found, step)
    return found


def _is_whole(of: Element, word: str) -> bool:
    """True when ``word`` is one field or parameter, dots and all: ``x⟨m.name⟩``."""
    match of.type:
        case Record() as row:
            return row.get(word) is not None
        case _:
            return True


def _call(children: Sequence[Node], scope: Scope) -> Reading:
    of, *args = children
    word = spelled(of) if of.data == "name" and not is_quoted(of) else ""
    match word:
        case "p":
            cond = condition(read(_only(args, "p"), scope))
            return BagTerm(wrap(cond.binds, Pred(cond.elem)), Bag(UNIT))
        case "weigh":
            return sets.weigh(read_element(_only(args, word), scope))
        case "difference" | "intersect":
            return sets.combine(word, [_side(a, scope, bag=True) for a in args], scope)
        case "flatten":
            bag = read_bag(_only(args, "flatten"), scope)
            if not isinstance(bag.type.row, Bag):
                raise TypeMismatch("flatten needs a bag of bags", wanted="Bag(Bag(…))", got=bag.type)
            return BagTerm(Flatten(bag.expr), Bag(bag.type.row.row))
        case _ if word in aggregates.NAMES:
            return aggregates.aggregate(word, read_bag(_only(args, word), scope), False, scope)
        case "if" if len(args) == 3:
            test, *sides = (read(a, scope) for a in args)
            return elements.function(word, [test, *elements.sides(test, sides, scope.session.names)])
        case _ if word and "." not in word and "/" not in word:
            return elements.function(word, [read(a, scope) for a in args])
        case _:
            return dictionaries.apply(of, read_element(_only(args, "a dictionary"), scope), scope, read_bag)


def _fold_call(children: Sequence[Node], scope: Scope) -> Reading:
    """f(t | x in e, p) = f([t | x in e, p])"""
    of, head, *qualifiers = children
    word = spelled(of) if of.data == "name" else ""
    if word not in aggregates.NAMES:
        raise no_function(word, aggregates.NAMES)
    return aggregates.aggregate(word, _comprehension(head, qualifiers, scope), True, scope)


def _only(args: Sequence[Node], what: str) -> Node:
    if len(args) != 1:
        raise TypeMismatch(f"{what} takes one argument", got=f"{len(args)} arguments")
    return args[0]


def _prefix(node: Node, operand: Node, scope: Scope, bag: bool) -> Reading:
    glyph = _token(node)
    if glyph.type == "NOT":
        return elements.exactly("not", [condition(read(operand, scope))])
    if glyph.type == "MINUS" and operand.data == "constant" and _token(operand).type in ("INT", "FLOAT"):
        return elements.plain_constant(_token(operand), "-")
    found = read_bag(operand, scope) if bag or glyph.type == "BAG_MINUS" else read(operand, scope)
    if isinstance(found, BagTerm):
        return BagTerm(Neg(found.expr), found.type)
    return elements.negative(found)


def _infix(node: Node, children: Sequence[Node], scope: Scope, bag: bool) -> Reading:
    """⊎, ⊖ and × of bags, also as +, - and *; else a function of scalars."""
    glyph = _token(node)
    kind = glyph.type if glyph.type in elements.INFIX and not bag else _BAG_GLYPHS.get(glyph.type, glyph.type)
    sides = [_side(c, scope, bag or kind not in elements.INFIX) for c in children]
    if any(map(is_bag, sides)):
        kind = _BAG_GLYPHS.get(kind, kind)
    match kind:
        case "BAG_PLUS":
            return _plus(_alike(sides), f"the two sides of {glyph}")
        case "BAG_MINUS":
            left, right = _alike(sides)
            return _plus([left, BagTerm(Neg(right.expr), right.type)], f"the two sides of {glyph}")
        case "TIMES":
            a, b = map(_as_bag, sides)
            row = Record((("_1", a.type.row), ("_2", b.type.row)))
            check_type_limits(row)
            return BagTerm(Product(a.expr, b.expr), Bag(row))
        case "OR" | "AND" if elements.NULL not in sides:
            join = lazily.either if kind == "OR" else lazily.both
            found = join([condition(s) for s in sides], scope.session.names)
            return elements.exactly(elements.INFIX[kind], found)
        case "LABEL_UNION":
            raise TypeMismatch("∪ joins dictionaries", possible=["⊎, between bags"])
        case _:
            return elements.operate(elements.INFIX[kind], sides, str(glyph))


def _side(node: Node, scope: Scope, bag: bool) -> Reading:
    """An operand; a bag where one is wanted, except that ``[]`` still takes the type of the other side."""
    if not bag:
        return read(node, scope)
    return Untyped("[]") if node.data == "list" and not subtrees(node) else read_bag(node, scope)


def _plus(bags: Sequence[BagTerm], what: str) -> BagTerm:
    try:
        return plus(bags, what)
    except TypeMismatch as error:
        if error.possible:  # said in Python
            error.possible = ("to_long(x), which makes a long of an int",) if error.possible == (LONG,) else None
        raise


def _alike(sides: Sequence[Reading]) -> list[BagTerm]:
    for side in sides:
        if not (isinstance(side, BagTerm) or side == Untyped("[]")):
            _as_bag(side)  # raises for what is no bag
    if all(isinstance(s, Untyped) for s in sides):
        _as_bag(sides[0])
    return alike(sides)


def _member(children: Sequence[Node], scope: Scope) -> Element:
    left, *members = children
    if len(members) == 1:
        possible = ["x = a", "x in (a, b)", "a for, or a generator of [e | x in xs]"]
        raise ParseError("in stands before several values in brackets", possible=possible)
    return elements.member(read(left, scope), [read(m, scope) for m in members])


# ---------------------------------------------------------------- for, where, let


def _for(children: Sequence[Node], scope: Scope) -> BagTerm:
    """for x in e₁ where p … union e₂"""
    name, source, *wheres, body = children
    var, bag = spelled(name), read_bag(source, scope)
    inner = scope.bind({var: Element(Var(var), bag.type.row)})
    found = _conditions(wheres, body, inner)
    return BagTerm(For(var, bag.expr, found.expr), found.type)


def _conditions(wheres: Sequence[Node], body: Node, scope: Scope) -> BagTerm:
    """where p where₁ q … union e = for _ in p(p) union for _1 in p(q) union … e"""
    found: list[tuple[str, Element]] = []
    for where in wheres:
        var = "_" + _token(where).removeprefix("where").translate(_SUBSCRIPTS)
        (test,) = subtrees(where)
        found.append((var, _condition(test, scope)))
        scope = scope.bind({var: Element(Var(var), UNIT)})
    result = read_bag(body, scope)
    expr = result.expr
    for var, cond in reversed(found):
        expr = guard(cond, expr, scope.session.names, var)
    return BagTerm(expr, result.type)


def _condition(test: Node, scope: Scope) -> Element:
    reading = read(test, scope)
    with scope.text.located(test):
        return condition(reading)


def _let(children: Sequence[Node], scope: Scope) -> BagTerm:
    target, bound, body = children
    name = spelled(subtrees(target)[0]) + "⁺" * any(isinstance(c, Token) for c in target.children)
    one = read_bag(bound, scope)
    two = read_bag(body, scope.bind_let(name, one.type))
    return BagTerm(Let(name, one.expr, two.expr), two.type)


# ---------------------------------------------------------------- singletons, lists, records


def _sng(node: Node, scope: Scope) -> BagTerm:
    site, inner, order = node.children
    assert isinstance(inner, Tree)
    found = _value(inner, scope) if site is None and order is None else read_bag(inner, scope)
    if isinstance(found, BagTerm) and isinstance(order, Tree):
        found = sorted_by(found, order, scope)
    if isinstance(site, Tree) and isinstance(found, BagTerm):
        return BagTerm(SngBag(spelled(site), found.expr, found.sorted), Bag(found.type))
    return singleton(found, scope.site)


def _value(node: Node, scope: Scope) -> Element | BagTerm:
    """What a head or a field may hold."""
    reading = read(node, scope)
    match reading:
        case Element() | BagTerm():
            return reading
        case Untyped() | Static():
            with scope.text.located(node):
                possible = ["string? null"] if reading == elements.NULL else ["∅[long]"]
                raise TypeMismatch(f"{described(reading)} has no type here", possible=possible)


def _empty(node: Node, scope: Scope) -> BagTerm:
    row = read_type(node, scope.text, scope.env, scope.session, {})
    if isinstance(row, Dict):
        raise TypeMismatch("a dictionary stands before the label that it is applied to", wanted="∅[…](label)")
    return BagTerm(Empty(row), Bag(row))


def _list(children: Sequence[Node], scope: Scope) -> BagTerm | Untyped:
    """[] = ∅, [a, b] = sng(a) ⊎ sng(b)"""
    if not children:
        return Untyped("[]")
    bags = [singleton(_value(c, scope), scope.site) for c in children]
    return _plus(bags, "the elements of a list")


def _comprehension(head: Node, qualifiers: Sequence[Node], scope: Scope) -> BagTerm:
    """[e | x in e₁, p, …] = for x in e₁ union for _ in p union … sng(e)"""
    if not qualifiers:
        return singleton(_value(head, scope), scope.site)
    first, *rest = qualifiers
    if not (first.data == "member" and len(subtrees(first)) == 2):
        return _guarded(head, qualifiers, scope)
    target, source = subtrees(first)
    if target.data != "name" or not (is_quoted(target) or "." not in spelled(target)):
        with scope.text.located(target):
            possible = ["x in xs", f"{_spelling(target)} = …", f"{_spelling(target)} in (…, …)"]
            raise ParseError("a generator has one name", wanted="a name", possible=possible)
    bag, var = read_bag(source, scope), spelled(target)
    with scope.at(first):  # each generator is one level deeper, like a comprehension inside
        inner = _guarded(head, rest, scope.bind({var: Element(Var(var), bag.type.row)}))
    return BagTerm(For(var, bag.expr, inner.expr), inner.type)


def _spelling(node: Node) -> str:
    return spelled(node) if node.data == "name" else "…"


def _guarded(head: Node, qualifiers: Sequence[Node], scope: Scope) -> BagTerm:
    """The conditions up to the next generator, and what is below them."""
    n = next((i for i, q in enumerate(qualifiers) if q.data == "member" and len(subtrees(q)) == 2), len(qualifiers))
    conds = [_condition(q, scope) for q in qualifiers[:n]]
    body = _comprehension(head, qualifiers[n:], scope)
    expr = body.expr
    for cond in reversed(conds):
        expr = guard(cond, expr, scope.session.names)
    return BagTerm(expr, body.type)


def _record(children: Sequence[Node], scope: Scope) -> Element:
    """⟨f: t, …⟩; a bag in a field becomes the variable of a for over sng_ι of it."""
    pairs = [(name, spelled(name), value) for name, value in map(pair, children)]
    found = {name: _entry(name, value, scope) for name, value in unique(scope.text, pairs)}
    row = tuple_of(found)
    check_type_limits(row.type)
    return row


def _entry(name: str, node: Node, scope: Scope) -> Element:
    inner = scope.within(name)
    return as_element(_value(node, inner), inner.site, scope.session.names)
