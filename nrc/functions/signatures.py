"""The type rules of scalar functions: what each takes, and the type of its result (``nrc/functions/scalars.py``)."""

from collections.abc import Callable, Sequence

from ripplenest.nrc.types import BOOL, Base, Type, join, nullable
from ripplenest.nrc.values import MAX_DIGITS

Rule = Callable[[Sequence[Base]], Base | None]
"""The result type, or None when the arguments do not fit."""
WIDER = {"int": ("long", "double"), "long": ("double",)}


def fixed(result: Base, *kinds: str) -> Rule:
    """Arguments of exactly these kinds."""
    return lambda args: result if [t.kind for t in args] == list(kinds) else None


def any_of(result: Base, *kinds: str) -> Rule:
    """One argument of one of these kinds."""
    return lambda args: result if len(args) == 1 and args[0].kind in kinds else None


def variadic(result: Base, kind: str) -> Rule:
    return lambda args: result if args and all(t.kind == kind for t in args) else None


def comparable(args: Sequence[Base]) -> Base | None:
    """Two of one kind; decimals of different scales too, if one type of 38 digits holds both."""
    if len(args) != 2 or args[0].kind != args[1].kind:
        return None
    return BOOL if args[0].kind != "decimal" or wider_decimal(args) else None


def wider_decimal(types: Sequence[Base]) -> Base | None:
    """The least decimal type that holds all of ``types``, or None beyond 38 digits."""
    scale = max(t.scale for t in types)
    return decimal(max(t.precision - t.scale for t in types) + scale, scale)


def decimal(precision: int, scale: int) -> Base | None:
    return Base("decimal", False, precision, scale) if precision <= MAX_DIGITS else None


def decimals(rule: Callable[[Base, Base], Base | None]) -> Rule:
    return lambda args: rule(*args) if [t.kind for t in args] == ["decimal", "decimal"] else None


def decimal_sum(a: Base, b: Base) -> Base | None:
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def decimal_product(a: Base, b: Base) -> Base | None:
    return decimal(a.precision + b.precision + 1, a.scale + b.scale)


def rounded(args: Sequence[Base]) -> Base | None:
    """A number of finitely many digits, and a decimal of the type of the result."""
    kinds = [t.kind for t in args]
    return maybe_null(args[1], False) if kinds[1:] == ["decimal"] and kinds[0] in ("int", "long", "decimal") else None


def itself(kind: str) -> Rule:
    """One argument of this kind, and a result of its very type."""
    return lambda args: args[0] if [t.kind for t in args] == [kind] else None


def to_decimal(args: Sequence[Base]) -> Base | None:
    if len(args) != 1:
        return None
    digits = {"int": decimal(10, 0), "long": decimal(20, 0), "decimal": args[0]}
    return digits.get(args[0].kind)


def is_within(t: Base, wider: Base) -> bool:
    """Whether each value of ``t`` that is not NULL is one of ``wider``, or a number that it has, too."""
    if wider.kind != "decimal":
        return t.kind == wider.kind or wider.kind in WIDER.get(t.kind, ())
    digits = to_decimal([t])
    return digits is not None and wider_decimal([digits, wider]) == maybe_null(wider, False)


def joined(args: Sequence[Base]) -> Base | None:
    """The one type of all arguments, NULL allowed when any of them allows it."""
    result: Base | None = args[0] if args else None
    for t in args[1:]:
        wider = None if result is None else join(result, t)
        result = wider if isinstance(wider, Base) else None
    return result


def coalesce(args: Sequence[Base]) -> Base | None:
    result = joined(args)
    return None if result is None else maybe_null(result, all(t.nullable for t in args))


def if_(args: Sequence[Base]) -> Base | None:
    return joined(args[1:]) if len(args) == 3 and args[0].kind == "bool" else None


def logic(args: Sequence[Base]) -> Base | None:
    result = fixed(BOOL, "bool", "bool")(args)
    return None if result is None else maybe_null(result, any(t.nullable for t in args))


def are_alike(a: Type, b: Type) -> bool:
    """Whether both are one base type, but for NULL."""
    return isinstance(a, Base) and isinstance(b, Base) and maybe_null(a, True) == maybe_null(b, True)


def maybe_null(t: Base, flag: bool) -> Base:
    result = nullable(t, flag)
    assert isinstance(result, Base)
    return result
