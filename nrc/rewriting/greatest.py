"""The greatest of sums of integers is found among numbers without end, and what comes first by them, or is distinct.

    for s in φ_α(x ∈ (… union sng(p + q)); f: max(x)) union e′
        ⟶  for s in φ_α(x ∈ (… union sng(to_decimal(p) + to_decimal(q))); f: max(x)) union e′[s.f := to_long(s.f)]
    for s in τ_α(n; x ∈ (… union sng(⟨a: p + q, b: r⟩)); x.a) union e′
        ⟶  for s in τ_α(n; x ∈ (… union sng(⟨a: to_decimal(p) + to_decimal(q), b: r⟩)); x.a) union
               e′[s.a := to_long(s.a)]
    for s in γ_α(x ∈ (… union sng(p + q)); k: x) union e′
        ⟶  for s in γ_α(x ∈ (… union sng(to_decimal(p) + to_decimal(q))); k: x) union e′[s.k := to_long(s.k)]

where rows are compared with others around them. So with products and ``min``. A sum can be beyond its type, and what
can fail is kept for each row around it that asks, in no order that they share. As a decimal it always has a value; only
what is shown must be an integer again. Ties of first rows are told by all of their fields, which stay in their order.

Law: where ⟦e⟧ has a value, ⟦greatest e⟧ = ⟦e⟧.
"""

from attrs import evolve

from ripplenest.nrc.functions.folds import result_type
from ripplenest.nrc.paths import reads_whole
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.exact import DECIMAL, as_decimal
from ripplenest.nrc.rewriting.sharing import without
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Order, Pred, Proj, Sng, Top, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import INT, LONG, Base, Type
from ripplenest.nrc.walk import Names, free_vars, nodes, rebuild, rebuild_elem, replace_elem, replace_part

INTEGERS, BY = {"int": INT, "long": LONG}, "by"


def greatest(e: Expr) -> Expr:
    """``e``, a nested term."""
    match rebuild(e, greatest, lambda t: t, lambda d: d):
        case For(s, Group(_, _, _, None, (Fold(_, "max" | "min"),)) as g, body) as kept if not reads_whole(body, s):
            return _greatest(s, g, body) or kept
        case For(s, Group(_, x, _, ((k, Var(key)),), ()) as g, body) as kept if x == key and not reads_whole(body, s):
            return _distinct(s, g, k, body) or kept
        case For(s, Top() as t, body) as kept if not reads_whole(body, s):
            return _first(s, t, body) or kept
        case rebuilt:
            return rebuilt


def _greatest(s: str, g: Group, body: Expr) -> Expr | None:
    """Of what is folded as decimals; None where it is no sum."""
    (fold,), head = g.folds, _head(g.of)
    asked = None if head is None or not _is_compared(g.of) else simplify_elem(replace_elem(fold.args[0], {g.var: head}))
    found = None if asked is None else as_decimal(asked)
    if asked is None or found is None:
        return None
    own = evolve(fold, args=(Var(g.var),), type=result_type(fold.fn, [_type(asked, found[1])]))
    answer = Proj(Var(s), fold.name)
    shown = Call(f"to_{found[1]}", (answer,))
    return For(s, evolve(g, of=without(g.of, (), (), found[0]), folds=(own,)), _put(body, answer, shown))


def _distinct(s: str, g: Group, key: str, body: Expr) -> Expr | None:
    """Of what is distinct as decimals; None where it is no sum."""
    head = _head(g.of)
    found = None if head is None or not _is_compared(g.of) else as_decimal(head)
    if found is None:
        return None
    own = Proj(Var(s), key)
    return For(s, evolve(g, of=without(g.of, (), (), found[0])), _put(body, own, Call(f"to_{found[1]}", (own,))))


def _first(s: str, t: Top, body: Expr) -> Expr | None:
    """The first rows with decimals for their sums; None where there are none that they are ordered by."""
    head = _head(t.of)
    if not isinstance(head, Tuple) or not _is_compared(t.of):
        return None
    sums = {name: found for name, u in head.fields if (found := as_decimal(u)) is not None}
    by = [_by(o, t.var, head) for o in t.order]
    if not any(key in sums if isinstance(key, str) else as_decimal(key) for key in by):
        return None
    names = Names(frozenset(name for name, _ in head.fields))
    fields = [(name, sums[name][0] if name in sums else u) for name, u in head.fields]
    order = list[Order]()
    for o, key in zip(t.order, by, strict=True):
        name = key if isinstance(key, str) else names.fresh(BY)
        if not isinstance(key, str):
            made = as_decimal(key)
            fields.append((name, key if made is None else made[0]))
        order.append(evolve(o, by=Proj(Var(t.var), name)))
    for name, (_, kind) in sums.items():
        body = _put(body, Proj(Var(s), name), Call(f"to_{kind}", (Proj(Var(s), name),)))
    return For(s, evolve(t, of=without(t.of, (), (), Tuple(tuple(fields))), order=tuple(order)), body)


def _by(o: Order, var: str, head: Tuple) -> str | Elem:
    """The field of rows ``var`` that they are ordered by, or what that is of their ``head``."""
    match o.by:
        case Proj(Var(name), field) if name == var:
            return field
    return simplify_elem(replace_elem(o.by, {var: head}))


def _is_compared(e: Expr, own: frozenset[str] = frozenset()) -> bool:
    """Whether rows are compared with others around them, of which several would keep the same ones."""
    match e:
        case For(var, Pred(cond), body) if var not in free_vars(body):
            calls = (n for n in nodes(cond) if isinstance(n, Call) and n.fn in (*SWAPPED, "ne"))
            return any(free_vars(n) & own and free_vars(n) - own for n in calls) or _is_compared(body, own)
        case For(var, _, body):
            return _is_compared(body, own | {var})
    return False


def _head(e: Expr) -> Elem | None:
    """What rows are; None where more than one term makes them."""
    match e:
        case For(_, _, body):
            return _head(body)
        case Sng(head):
            return head
    return None


def _type(t: Elem, kind: str) -> Base:
    """The type of a sum of integers of a ``kind`` as a decimal."""
    types: dict[str, Type] = {}

    def leaf(t: Elem) -> Elem:
        match t:
            case Call(fn) if fn in DECIMAL:
                return rebuild_elem(t, leaf)
            case Lit():
                return t
        types[name := f"x{len(types)}"] = INTEGERS[kind]
        return Var(name)

    made = as_decimal(leaf(t))
    assert made is not None
    found = elem_type(made[0], types)
    assert isinstance(found, Base)
    return found


def _put(e: Expr, part: Elem, value: Elem) -> Expr:
    return rebuild(e, lambda c: _put(c, part, value), lambda t: replace_part(t, part, value), lambda d: d)
