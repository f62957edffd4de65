"""What is evaluated of all rows of a relation in every state, whatever else there is: that by which groups are made for
which a view asks before anything else.

A definition that can fail is evaluated for labels in use only (``sites.py``). Of a group that is always asked for all
rows are looked at, and where its key has no value for one the view has none; so what asks for the same of the same rows
fails nowhere else: ``for g, ss in group_by(R, key)``, of which ss are the rows of R that have the key of g.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from ripplenest.nrc.functions.scalars import is_strict
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictLit,
    Elem,
    Expr,
    For,
    GroupRel,
    InL,
    IsSite,
    Let,
    OutL,
    Plus,
    Proj,
    Rel,
    Term,
    Total,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Type, may_be_null
from ripplenest.nrc.walk import children, free_vars, rebuild_elem, replace_elem

ROW = "·"  # the row of a relation that something is said of


class Defined(Protocol):
    """A definition and its products."""

    @property
    def d(self) -> DictLit: ...
    @property
    def products(self) -> tuple[Comprehension, ...]: ...


def asked_first(h: Expr) -> frozenset[str]:
    """The sites of groups without parameters that ``h`` reads, whatever is in the database."""
    match h:
        case Plus(left, right):
            return asked_first(left) | asked_first(right)
        case Let(_, _, body):
            return asked_first(body)
        case For(_, Apply(GroupRel(), InL(site, ())), _):
            return frozenset((site,))
    return frozenset()


@frozen
class Evaluated:
    """What is evaluated of each row of a relation of which ``conditions`` are true."""

    rel: Rel
    conditions: frozenset[Elem]
    terms: frozenset[Elem]


def evaluated(definitions: Sequence[Defined], always: frozenset[str]) -> tuple[Evaluated, ...]:
    """The same of all definitions of groups that are ``always`` asked for, by their sites."""
    own = [c for s in definitions if s.d.site.name in always for c in s.products]
    return tuple(_of(c, var) for c in own if (var := _each(c)) is not None)


def _each(c: Comprehension) -> str | None:
    """The rows of which ``c`` reads each, if all that it reads beside has a row for every place that they say."""
    rows = [var for var, rel in c.generators if not isinstance(rel, Total)]
    if len(rows) != 1 or c.times:  # a row that is there 0 times need not be looked at
        return None
    others = (t for t in c.conditions if not free_vars(t) <= {*rows})
    return rows[0] if all(_is_place(t, rows[0], c) for t in others) else None


def _is_place(t: Elem, var: str, c: Comprehension) -> bool:
    """Whether ``t`` says of what place of a row ``var`` something is: it is true of one."""
    match t:
        case IsSite(Proj(Var(), "label")):
            return True
        case Call("eq" | "same" as fn, (OutL(Proj(_, "label")), x) | (x, OutL(Proj(_, "label")))):
            return free_vars(x) == {var} and (fn == "same" or not may_be_null(elem_type(x, c.variables())))
    return False


def _of(c: Comprehension, var: str) -> Evaluated:
    row: dict[str, Elem] = {var: Var(ROW)}
    conditions = (replace_elem(t, row) for t in c.conditions if free_vars(t) <= {var})
    return Evaluated(dict(c.generators)[var], frozenset(conditions), frozenset(_evaluated(replace_elem(c.head, row))))


def _evaluated(t: Term) -> Iterator[Elem]:
    """What is evaluated wherever ``t`` is: not what is in one of two choices."""
    if isinstance(t, Call):
        yield t
    if not isinstance(t, Call) or is_strict(t.fn):
        for inner in children(t):
            yield from _evaluated(inner)


def without(
    t: Elem, c: Comprehension, types: Mapping[str, Type], known: Sequence[Evaluated]
) -> tuple[Elem, Mapping[str, Type]]:
    """``t``, an element of ``c`` whose variables have ``types``, with variables for what is evaluated anyway, and
    types of these, too."""
    found: dict[str, Type] = {}

    def read(t: Elem) -> Elem:
        if isinstance(t, Call) and any(_is_known(t, c, k) for k in known):
            found[name := f"{ROW}{len(found)}"] = elem_type(t, types)
            return Var(name)
        return rebuild_elem(t, read)

    return read(t), {**types, **found}


def _is_known(t: Call, c: Comprehension, known: Evaluated) -> bool:
    of = free_vars(t)
    if len(of) != 1 or (var := min(of)) not in c.variables() or dict(c.generators).get(var) != known.rel:
        return False
    row: dict[str, Elem] = {var: Var(ROW)}
    true = {replace_elem(p, row) for p in c.conditions if free_vars(p) == of}
    return replace_elem(t, row) in known.terms and known.conditions <= true
