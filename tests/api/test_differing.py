"""How types differ: what is told of two relations is told where they differ, and nowhere else."""

from support.choices import Choices, seeded
from support.schemas import MAX_DEPTH, field_type, row_type
from support.sizes import many

from ripplenest.nrc.types import Bag, Base, Record, Type, optional
from ripplenest.schema.differing import differing, same

CASES = many(300, 20_000)


def changed(t: Type, c: Choices) -> Type:
    """Something near ``t``, or ``t``."""
    match t:
        case Bag(row, null):
            return Bag(changed(row, c), null != c.one_in(8))
        case Record() if t.is_optional:
            return t.there if c.one_in(8) else optional(changed(t.there, c))
        case Record(fields):
            own = [(n if c.number(8) else f"{n}2", changed(f, c) if c.number(2) else f) for n, f in fields]
            if c.one_in(6):
                own.append(("more", field_type(c, 1)))
            if c.one_in(8):
                own.reverse()
            return Record(tuple(own[1:] if len(own) > 1 and c.one_in(8) else own))
    return Base("string", c.number(2) == 1) if c.one_in(4) else t


def test_nothing_differs_in_equal_types_alone() -> None:
    equal = 0
    for seed in range(CASES):
        c = seeded(seed)
        one = row_type(c, MAX_DEPTH)
        other = changed(one, c)
        assert (list(differing(one, other)) == []) == same(one, other), (one, other)
        equal += same(one, other)
    assert CASES / 20 < equal < CASES * 0.8
