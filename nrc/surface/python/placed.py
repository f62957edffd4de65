"""What to write in place of ``sorted(xs, key=…)[place]``, of which a view has ``[:n]`` and ``[0]``: first rows without
those before them."""

import ast

from ripplenest.nrc.errors import Unsupported

WANTED = "the first rows, `[:n]`, or `[0]`"


def refused(name: str, place: ast.expr) -> Unsupported:
    """For ``[place]`` behind rows that ``name`` has ordered."""
    what, got = f"a view cannot contain rows of {name}(...) by their place", f"[{ast.unparse(place)}]"
    return Unsupported(what, wanted=WANTED, got=got, possible=_possible(place))


def _possible(place: ast.expr) -> tuple[str, ...]:
    match place:
        case ast.Slice(lower, upper, None):
            return _slice(whole(lower), whole(upper)) or _one(is_last=False)
        case _:
            return _row(whole(place) or 0)


def _slice(start: int | None, stop: int | None) -> tuple[str, ...]:
    """[start:stop], where these are written out; none of other ones."""
    match start or 0, stop:
        case 0, int(b) if b < 0:
            return _without("xs", _top(-b, is_last=True))
        case a, None if a > 0:
            return _without("xs", _top(a))
        case a, None if a < 0:
            return (f"`{_top(-a, is_last=True)}`, a bag of them",)
        case a, int(b) if 0 < a < b:
            return _without(_top(b), _top(a))
    return ()


def _without(rows: str, others: str) -> tuple[str, ...]:
    """Not ``rows - others``, of which no group is made: that it is never less than none, nobody knows."""
    return (f"`rn.difference({rows}, {others})`, a bag of them",)


def _row(n: int) -> tuple[str, ...]:
    """[n]"""
    is_last, before = n < 0, n if n > 0 else -n - 1
    if before < 1:
        return _one(is_last)
    bag = f"rn.difference({_top(before + 1, is_last)}, {_top(before, is_last)})"
    return f"`{bag}`, a bag of it", f"`min({bag}, key=...).price`, its value"


def _one(is_last: bool) -> tuple[str, ...]:
    """The first row, or the last."""
    reverse, which, fold = (", reverse=True", "last", "max") if is_last else ("", "first", "min")
    bags = f"`{_top(1, is_last)}`", f"`sorted(xs, key=...{reverse})[:1]`, a bag of the {which} row"
    return *bags, f"`{fold}(xs, key=...).price`, its value"


def _top(many: int, is_last: bool = False) -> str:
    return f"rn.top({many}, xs, key=...{', desc=True' if is_last else ''})"


def whole(node: ast.expr | None) -> int | None:
    """A whole number that is written out."""
    match node:
        case ast.Constant(int() as n) if not isinstance(n, bool):
            return n
        case ast.UnaryOp(ast.USub(), inner) if (inside := whole(inner)) is not None:
            return -inside
        case _:
            return None
