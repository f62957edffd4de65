"""What asks of a fold of rows whether there is one."""

from ripplenest.nrc.rewriting.bands import OPPOSITE
from ripplenest.nrc.syntax import Call, Elem, Lit


def is_presence(t: Elem, answer: Elem, fn: str) -> bool:
    """Whether ``t`` is true where a row is there: the ``answer`` of any(), or that of count() being more than 0."""
    if fn == "any":
        return t == answer
    match t:
        case Call("not", (Call("eq", args),)):
            return is_presence(Call("ne", args), answer, fn)
        case Call("gt" | "ne", (a, Lit(0))) | Call("lt" | "ne", (Lit(0), a)):
            return a == answer
        case Call("ge", (a, Lit(1))) | Call("le", (Lit(1), a)):
            return a == answer
    return False


def is_absence(t: Elem, answer: Elem, fn: str) -> bool:
    """Whether ``t`` is true where none is there, and false elsewhere."""
    match t:
        case Call("not", (inner,)):
            return is_presence(inner, answer, fn)
        case Call("eq", args):
            return is_presence(Call("ne", args), answer, fn)
        case Call(op, args) if op in OPPOSITE:
            return is_presence(Call(OPPOSITE[op], args), answer, fn)
    return False
