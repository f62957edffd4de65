"""What a fold with a row for every place is compared with: an answer that is stored, or that of nothing.

    x.a <=> y           ⟺  x.a = y ∨ (x.a is null ∧ y is null)
    coalesce(x.a, b) ≐ y  ⟺  x.a = y ∨ (x.a is null ∧ b ≐ y)

One side is true of rows that are stored, so that these are looked up by what they answer.
"""

from collections.abc import Iterator

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.syntax import Call, Elem

Answers = tuple[Elem, tuple[Elem, ...]]


def answers(t: Elem) -> Iterator[Answers]:
    """For each side of an equality ``t`` that may be an answer: what is true of a stored one, and what of nothing.

    Law: ``t`` is true where all of one of the two are, never of both, and of nothing else.
    """
    match t:
        case Call("eq" | "same" as fn, (a, b)):
            for own, other in ((a, b), (b, a)):
                match own:
                    case Call("coalesce", (x, y)) if column_of(x) is not None:
                        yield Call("eq", (x, other)), (Call("is_null", (x,)), Call(fn, (y, other)))
                    case _ if fn == "same" and column_of(own) is not None:
                        yield Call("eq", (own, other)), (Call("is_null", (own,)), Call("is_null", (other,)))
