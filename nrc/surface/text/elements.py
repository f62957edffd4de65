"""Scalars, fields, labels: what stands for one value.

A call is read as it is when the table of scalar functions takes the types that its arguments have: ``+`` of two longs
is ``add_long``. Otherwise the promotions of ``nrc/functions/scalars.py`` are written as casts, ``null`` takes the type
of its neighbours, and a whole number beside an int is one.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import product

from lark import Token

from ripplenest.nrc.errors import ParseError, TypeMismatch, WrongValue
from ripplenest.nrc.functions.scalars import OPERATORS, SCALARS, result_type
from ripplenest.nrc.printing.text import constant, unquoted
from ripplenest.nrc.surface import lazily
from ripplenest.nrc.surface.python.scalars import apply, fold
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Static, Untyped, merge, null_whole
from ripplenest.nrc.surface.text.advice import no_function, unknown
from ripplenest.nrc.surface.text.aggregates import NAMES
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.kinds import base_type
from ripplenest.nrc.surface.text.kinds import site as site_called
from ripplenest.nrc.syntax import Call, Elem, InL, IsSite, Lit, OutL, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Base, Label, Record, Site, Type, nullable
from ripplenest.nrc.values import literal_type, to_value
from ripplenest.nrc.walk import Names

NULL = Untyped("None")
_PLAIN = {"STRING": STRING, "INT": LONG, "FLOAT": DOUBLE, "BYTES": Base("binary"), "TRUE": BOOL, "FALSE": BOOL}
INFIX = {
    "OR": "or", "AND": "and", "EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "SAME": "same",
    "PLUS": "add", "MINUS": "sub", "DOT": "mul", "STAR": "mul", "SLASH": "div", "FLOOR": "quotient",
    "MOD": "mod",
}  # fmt: skip
_NOT_OF_NULL = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_COMPARISONS = _NOT_OF_NULL | {"same"}
BAGS = ("p", "weigh", "flatten", "difference", "intersect")  # functions that make bags
_CASTS = tuple(op for op in OPERATORS if op.startswith("to_"))


# ---------------------------------------------------------------- constants


def plain_constant(token: Token, sign: str = "") -> Element | Untyped:
    """A constant that says its type by its form."""
    return NULL if token.type == "NULL" else _literal(token, _PLAIN[token.type], sign)


def typed_constant(children: Sequence[object]) -> Element:
    """``date "2024-02-29"``, ``long? null``, ``decimal "1.50"``, which has the fewest digits that hold it."""
    kind, digits, scale, flag, sign, token = children
    assert isinstance(kind, Token) and isinstance(token, Token)
    if kind == "decimal" and digits is None and token.type in ("STRING", "INT", "FLOAT"):
        tight = _tight(f"{sign or ''}{_words(token)}")
        return _literal(token, _nullable(tight, flag is not None), str(sign or ""))
    base = base_type(str(kind), digits, scale, flag)
    if token.type == "NULL":
        return Element(Lit(None, base), nullable(base))
    return _literal(token, base, str(sign or ""))


def _tight(text: str) -> Base:
    try:
        found = literal_type(Decimal(text))
    except ArithmeticError:
        found = None
    if found is None:
        raise ParseError("not a decimal of at most 38 digits", got=text[:60])
    return found


def _literal(token: Token, base: Base, sign: str) -> Element:
    text = sign + _words(token)
    try:
        found = constant(text, base)
        if found is None or (token.type == "FLOAT" and isinstance(found, float) and math.isinf(found)):
            raise ValueError("out of range")
        return Element(Lit(to_value(found, base, ""), base), base)
    except (ValueError, ArithmeticError, WrongValue):
        raise ParseError("not a constant of this type", wanted=base, got=text[:60]) from None


def _words(token: Token) -> str:
    try:
        return unquoted(token) if token.type == "STRING" else str(token)
    except ValueError as error:
        raise ParseError(f"not a string: {error}") from None


def _nullable(t: Base, flag: bool) -> Base:
    found = nullable(t, flag)
    assert isinstance(found, Base)
    return found


# ---------------------------------------------------------------- functions


def operate(op: str, args: Sequence[Reading], sign: str = "") -> Element:
    """The generic ``op`` of base values. ``sign``: how it is written, unless by its name. Raises TypeMismatch."""
    typed = [_base(a) for a in args if a != NULL]
    if not typed:
        raise TypeMismatch("null has no type here", possible=["string? null"])
    if op in _NOT_OF_NULL and len(typed) < len(args):
        raise TypeMismatch("comparing with null gives NULL, which is never true", possible=["x is null", "<=>"])
    if len(typed) == len(args):
        fn = op if op in SCALARS else f"{op}_{_kind(typed[0])}"
        if _takes(fn, typed):
            return exactly(fn, typed)
    if op == "add" and all(_kind(e) == "string" for e in typed):
        return operate("concat", args)
    try:
        return apply(op, args, op)
    except TypeMismatch as error:
        if sign:
            raise _misfit(op, args, sign, error.possible or ()) from None
        raise


def _misfit(op: str, args: Sequence[Reading], sign: str, takes: Sequence[str]) -> TypeMismatch:
    """What a sign does not take; possible are casts of one side that would do, else what it takes at all."""
    types = [described(a) for a in args]
    what = f"cannot compare {' with '.join(types)}" if op in _COMPARISONS else f"cannot take {' and '.join(types)}"
    sides = range(2 if len(args) == 2 else 0)
    found = [(i, cast) for i, cast in product(sides, _CASTS) if _fits(op, args, i, cast)]
    possible = [(f"{cast}(…) {sign} …", f"… {sign} {cast}(…)")[i] for i, cast in found]
    return TypeMismatch(f"`{sign}` {what}", got=", ".join(types), possible=possible or takes)


def _fits(op: str, args: Sequence[Reading], i: int, cast: str) -> bool:
    try:
        operate(op, [*args[:i], operate(cast, [args[i]]), *args[i + 1 :]])
    except TypeMismatch:
        return False
    return True


def sides(test: Reading, args: Sequence[Reading], names: Names) -> Sequence[Reading]:
    """The two sides of if(c, a, b), each as it is where it is asked for; what is no condition is left to the table."""
    if not (isinstance(test, Element) and isinstance(test.type, Base) and test.type.kind == "bool"):
        return args
    yes, no = args
    return lazily.sides(test, yes, no, names)


def function(name: str, args: Sequence[Reading]) -> Element:
    """``name(args)``: an entry of the table, or a generic operator by its name. Raises UnknownName, TypeMismatch."""
    if name in OPERATORS:
        return operate(name, args)
    if name not in SCALARS:
        raise no_function(name, [*BAGS, *NAMES, *OPERATORS])
    typed = [_base(a) for a in args]
    result_type(name, [_type(e) for e in typed])  # raises TypeMismatch
    return exactly(name, typed)


def exactly(fn: str, args: Sequence[Element]) -> Element:
    """A call of the entry ``fn``, whose types fit."""
    return Element(Call(fn, tuple(e.elem for e in args)), result_type(fn, [_type(e) for e in args]), merge(args))


def _takes(fn: str, args: Sequence[Element]) -> bool:
    return fn in SCALARS and SCALARS[fn].rule([_type(e) for e in args]) is not None


def _base(reading: Reading) -> Element:
    if isinstance(reading, Element) and isinstance(reading.type, Base):
        return reading
    what = "predicates and functions look at base values only"
    raise TypeMismatch(what, wanted="a base value", got=described(reading))


def _type(e: Element) -> Base:
    assert isinstance(e.type, Base)
    return e.type


def _kind(e: Element) -> str:
    return _type(e).kind


def described(reading: Reading) -> str:
    """What a message calls a reading."""
    match reading:
        case Element(_, t) | BagTerm(_, t):
            return str(t)
        case Untyped("None"):
            return "null"
        case Untyped() | Static():
            return "[]"


def condition(reading: Reading) -> Element:
    """A boolean, for a predicate."""
    found = _base(reading)
    if _kind(found) != "bool":
        raise TypeMismatch("a condition must be a boolean", wanted="bool", got=found.type, possible=["a comparison"])
    return found


def negative(reading: Reading) -> Element:
    """-x"""
    return operate("neg", [reading], "-")


def is_test(operand: Reading, negated: bool, null: bool) -> Element:
    """x is null, x is true; with ``not``, their negations."""
    word = "null" if null else "true"
    test = (null_whole(operand) if null else None) or operate(f"is_{word}", [operand], f"is {word}")
    return exactly("not", [test]) if negated else test


def member(left: Reading, members: Sequence[Reading]) -> Element:
    """x in (a, b, …): x = a or x = b or …"""
    return fold("or", [operate("eq", [left, m], "in") for m in members])


# ---------------------------------------------------------------- records and labels


def project(of: Element, name: str) -> Element:
    """of.name: a field of a record, or a parameter of a label."""
    match of.type:
        case Record() as row:
            found = row.get(name)
            if found is None:
                raise unknown(f"there is no field {name!r}", name, row.there.names)
            return Element(Proj(of.elem, name), found, of.binds)
        case Label() as label:
            return _parameter(of, [s for s in label.sites if name in dict(s.params)], name, label)
        case _:
            raise TypeMismatch(f"only records have fields, and this is none: .{name}", wanted="a record", got=of.type)


def parameter(of: Reading, site: str, name: str, env: Environment) -> Element:
    """l⟨site: name⟩"""
    if not (isinstance(of, Element) and isinstance(of.type, Label)):
        raise TypeMismatch("only labels have parameters", wanted="𝕃", got=described(of))
    found = site_called(site, env)
    return _parameter(of, [found] if name in dict(found.params) else [], name, Label((found,)))


def _parameter(of: Element, sites: Sequence[Site], name: str, label: Label) -> Element:
    names = sorted({p for s in label.sites for p, _ in s.params})
    if not sites:
        raise unknown(f"there is no parameter {name!r}", name, names)
    if len(sites) > 1:
        possible = [f"⟨{s.name}: {name}⟩" for s in sites]
        raise TypeMismatch(f"several sites have a parameter {name!r}", got=label, possible=possible)
    return Element(OutL(of.elem, sites[0], name), parameter_type(of.type, sites[0], name), of.binds)


def parameter_type(label: Type, site: Site, name: str) -> Type:
    """The type of a parameter that is read from a label of type ``label``."""
    return elem_type(OutL(Var("l"), site, name), {"l": label})


def label(site: str, args: Sequence[Reading], env: Environment) -> Element:
    """⟨ι[site], args⟩"""
    if site not in env.parameters:
        raise unknown(f"there is no site {site!r}", site, sorted(env.parameters))
    names = env.parameters[site]
    if len(names) != len(args):
        wanted = f"({', '.join(names)})"
        raise TypeMismatch(f"a label of {site} has other values", wanted=wanted, got=f"{len(args)} values")
    elements = [e for e in args if isinstance(e, Element)]
    params = [(n, e.type) for n, e in zip(names, elements, strict=False)]
    if len(elements) < len(args) or not all(isinstance(t, Base | Label) for _, t in params):
        got = ", ".join(map(described, args))
        raise TypeMismatch("a label's values are base values or labels", wanted="Base or 𝕃", got=got)
    found: Elem = InL(site, tuple((n, e.elem) for n, e in zip(names, elements, strict=True)))
    return Element(found, Label((Site(site, tuple(params)),)), merge(elements))


def is_site(of: Reading, site: str) -> Element:
    """l ∈ ι[site]"""
    if not (isinstance(of, Element) and isinstance(of.type, Label)):
        raise TypeMismatch("only labels are made at a site", wanted="𝕃", got=described(of))
    return Element(IsSite(of.elem, site), BOOL, of.binds)


def is_bag(reading: Reading) -> bool:
    """True for what only a bag can be."""
    return isinstance(reading, BagTerm) or reading == Untyped("[]")
