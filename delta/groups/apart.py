"""Rows of a group in which no two products share a value.

Where folds of a group multiply a column by different others, Σ x · y and Σ x · z, a sum map tells each of the products
by itself. So rows that statements make, if they read such sums, have a value for each factor of each product; and so
the value of x twice. What is stored is the same, and so is what builds make.
"""

from collections.abc import Iterator

from attrs import evolve

from ripplenest.delta.added import Places, folded_values, with_values
from ripplenest.delta.groups.strata import Cut
from ripplenest.delta.program import Map
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import Expr


def apart(m: Map) -> Map:
    """A group whose statements make such rows; ``m`` itself where that is so anyway, and of what is no group."""
    if m.group is None:
        return m
    places = tuple(_places(m.group))
    return m if places == tuple(a.args for a in m.group.answers) else evolve(m, apart=places)


def _places(group: Cut) -> Iterator[Places]:
    """The places of the factors of each answer: those of the first that reads a value are where it is."""
    found: dict[Places, Places] = {}
    fresh, used = group.width, set[int]()
    for a in group.answers:
        if a not in group.added:
            yield a.args
            continue
        if a.args not in found:
            own = []
            for i in a.args:
                own.append(fresh if i in used else i)
                fresh += i in used
                used.add(i)
            found[a.args] = tuple(own)
        yield found[a.args]


def made_apart(m: Map, c: Comprehension) -> Comprehension:
    """A product of ``m`` with the values that its statements make."""
    if not m.apart:
        return c
    values = folded_values(c.head)
    assert values is not None
    return evolve(c, head=with_values(c.head, [values[i] for i in m.origins]))


def term_apart(m: Map) -> Expr:
    """The term of ``m`` with the values that its statements make."""
    return term(tuple(made_apart(m, c) for c in m.products), m.made) if m.apart else m.term
