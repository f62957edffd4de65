"""Which numbers are never negative, by what makes them: counts, lengths, and what is made of such numbers.

So a weight may stand below a group, and what is taken away from a number makes it no larger.
"""

from collections.abc import Iterable, Mapping

from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Var

NO_COLUMNS: frozenset[str] = frozenset()
NATURAL = frozenset(("monus", "abs", "length"))  # functions that are never negative
MONOTONE = frozenset(("least", "add", "mul", "quotient", "coalesce", "to"))  # nor these, of arguments that are not


def is_natural(t: Elem, counts: Mapping[str, frozenset[str]] | None = None) -> bool:
    """True for a number that is NULL or not negative wherever it has a value; ``counts`` are such fields of variables.

    Law: where it is true, ⟦t⟧ ≥ 0 or NULL, whatever is in the database.
    """

    def all_are(args: Iterable[Elem]) -> bool:
        return all(is_natural(a, counts) for a in args)

    match t:
        case Lit(int() as n):
            return n >= 0
        case Lit(value):
            return value is None
        case Proj(Var(name), column):
            return column in (counts or {}).get(name, NO_COLUMNS)
        case Call("if", (_, yes, no)):
            return all_are((yes, no))
        case Call("mod_int" | "mod_long", (of, _)):  # which has the sign of its first argument
            return is_natural(of, counts)
        case Call(fn, args):
            family = fn.partition("_")[0]
            return family in NATURAL or (family in MONOTONE and all_are(args))
        case _:
            return False
