"""That a value lies before the next one of some rows says that none of them lies between.

    for s in φ_α(x ∈ e; f: min(v)) union C[for _ in p(c < s.f) union e′]
        ⟶  … C[for z in φ_β(x ∈ e; f: any(v ≤ c)) union for _ in p(not z.f ∧ c < s.f) union e′]

So of c < coalesce(s.f, d), of ≤ with <, and of > with max; and of ``s.f is NULL or c < s.f``, where c is never NULL, z
says all of it: of s.f itself, as a default may be NULL, too, or come before c. Of a version of something, ``s`` tells
when the next one begins, and c < s.f that it holds at c: then it is the latest before c (``latest.py``), which finds
it, and all versions would be looked at otherwise.

Law: both have the same rows.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.keyed import Around
from ripplenest.nrc.rewriting.presence import is_known
from ripplenest.nrc.syntax import Call, Elem, Fold, Group, Proj, SngBag, Term, Top, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, may_be_null
from ripplenest.nrc.walk import nodes

# how c is compared with the first of what comes, or the last of what came: the fold, and how a value between is with c
BETWEEN = {"lt": ("min", "le"), "le": ("min", "lt"), "gt": ("max", "ge"), "ge": ("max", "gt")}


@frozen
class Until:
    """What asks for ``some`` row between; ``kept`` is what it leaves of the condition that says there is none."""

    some: Group
    kept: Sequence[Elem]


def is_next(t: Term) -> bool:
    """Whether it is the first value of some rows, or the last."""
    return isinstance(t, Group) and t.keys is None and [f.fn for f in t.folds] in (["min"], ["max"])


def until(condition: Elem, around: Around) -> Iterator[Until]:
    """The ways to say so of a ``condition``."""
    match condition:
        case Call("or", (Call("is_null", (Proj(Var()) as s,)), Call(op, sides))) if op in SWAPPED and s in sides:
            for c, some in _some(Call(op, sides), around):
                if is_known(c, around) and not may_be_null(elem_type(c, around.types)):
                    yield Until(some, [])
        case Call("or", (Call(op) as said, Call("is_null") as absent)) if op in SWAPPED:
            yield from until(Call("or", (absent, said)), around)
        case Call(op) if op in SWAPPED:
            yield from (Until(some, [condition]) for _, some in _some(condition, around))


def _some(said: Call, around: Around) -> Iterator[tuple[Elem, Group]]:
    """What is compared with an answer, and what asks for a row between."""
    a, b = said.args
    for op, c, answer in ((said.fn, a, b), (SWAPPED[said.fn], b, a)):
        fn, between = BETWEEN[op]
        match answer:
            case Proj(Var(s)) | Call("coalesce", (Proj(Var(s)), _)) if s in around.totals:
                g = around.totals[s]
                is_made = any(isinstance(n, Group | Top | SngBag) for n in nodes(g.of))
                if [f.fn for f in g.folds] == [fn] and not is_made:
                    yield c, evolve(g, folds=(Fold("some", "any", (Call(between, (*g.folds[0].args, c)),), BOOL),))
