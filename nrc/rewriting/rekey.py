"""Inner bags read the row that they are of by its key.

    for x in R union C[sng_ι(e)]  ⟶  for x in R union C[sng_ι(for y in R where y.k = x.k union e[y/x])]

where k is the key of R and e tells which row x is (``keyed.py``): it equates x.k with columns that it reads, or what
it computes of them, or reads an inner bag of x. If it reads more of x, with which it equates nothing, as a threshold or
when a window begins, this would be part of the label, and a new one would move the bag, whole, to a new label. There is
one such y, x itself, so both are the same bag; but the label is made of x.k alone, and of the bag change the rows that
differ. It needs no domain, either. R may be the inner bag of a row. So it is with groups, and with the first rows in an
order, whose places are labels, too.

Where e can fail, what is true of x where the bag is made is asked of y, too: x may be a row for which no bag is made.
What can fail itself is asked if e can fail otherwise than by growing too large: the bag then hears of what it reads.

A row may be told by constants alone, as a clock is: ``for k in Clock if k.id == 1``. When it changes no equality leads
from it to what e reads, but a value of it that moves does, if rows are compared with it: they are read between the old
value and the new one. If e reads anything of it, and nothing is compared so, it stays outside.

Law: ⟦rekeyed e⟧ = ⟦e⟧ where no two rows of R have the same k; rows that had the same label still have the same.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from ripplenest.nrc.functions.scalars import has_gaps, never_fails
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.keyed import Around, Keys, Told, passed, rebuilt
from ripplenest.nrc.rewriting.outside import Asks, at_ends, beside_ends, paths_equated, paths_read
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Pred, Proj, SngBag, Term, Top, Var
from ripplenest.nrc.walk import (
    Names,
    children,
    free_lets,
    free_vars,
    nodes,
    replace,
    replace_elem,
)


def rekeyed(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys:
        return e

    def inside(e: Expr) -> Expr:
        return _inside(e, Around(keys), Names(frozenset(n.var for n in nodes(e) if isinstance(n, For | Group | Top))))

    return passed(e, inside)


def _inside(e: Expr, around: Around, names: Names) -> Expr:
    match e:
        case SngBag(site, body, order):
            inner = _read(_inside(body, around, names), (), around, names)
            return e if inner is body else SngBag(site, inner, order)
        case Group() | Top():
            of, beside = _inside(e.of, around, names), [c for c in children(e) if c is not e.of]
            inner = _read(of, beside, around, names, _asks(e))
            return e if inner is e.of else evolve(e, of=inner)
        case _:
            return rebuilt(e, around, lambda c, below: _inside(c, below, names))


def _read(e: Expr, beside: Sequence[Term], around: Around, names: Names, asks: Asks = None) -> Expr:
    """``e`` with rows around it read by their keys, if that leaves nothing that it does not equate: not where what is
    ``beside`` it in its group reads that."""
    free = free_vars(e)
    known = paths_equated(e, free, asks)
    loose = {path for path in paths_read(e, free) if path not in known}
    told = around.told(known) if loose and free_lets(e) <= around.lets else {}
    of = {x for path in loose if (x := root(path))}
    if not of <= told.keys() or any(path not in known for t in beside for path in paths_read(t, free)):
        return e
    if not loose - {Proj(Var(x), f) for x in of for f in around.rows[x].key}:  # a key stays what it is
        return e
    constant = {path for path in loose if told[root(path) or ""].is_constant}
    if not constant.isdisjoint(beside_ends(e, free, asks)) and constant.isdisjoint(at_ends(e, free)):
        return e
    wanted = _wanted(told, of, around)
    env = {x: Var(names.fresh(x)) for x in wanted}
    inner = replace(e, env)
    failing = {n.fn for n in nodes(e) if isinstance(n, Call) and not never_fails(n.fn)}
    if failing:
        said = around.said(env.keys(), all_of_it=any(map(has_gaps, failing)))
        for cond in reversed([c for c in said if not _is_key(c, told)]):
            inner = For("_", Pred(replace_elem(cond, env)), inner)
    for x in reversed(wanted):
        for cond in reversed([*_equal(x, told, known, env)]):
            inner = For("_", Pred(cond), inner)
        inner = For(env[x].name, replace(around.rows[x].source, env), inner)
    return inner


def _equal(x: str, told: Mapping[str, Told], outside: Collection[Elem], env: Mapping[str, Var]) -> Iterator[Elem]:
    """What says which row is read for x, where it is: by values ``outside``, and of rows that are read before it; and
    of such a row what x says of it. ``env`` are the rows that are read, in their order."""
    wanted = [*env]
    before = {y: env[y] for y in wanted[: wanted.index(x)]}
    for f, t in told[x].key:
        y = root(t)
        if y in before or y == x or y not in env or t in outside:
            yield Call("eq", (Proj(env[x], f), replace_elem(t, before)))
    for y in before:
        late = ((f, t) for f, t in told[y].key if root(t) == x)
        yield from (Call("eq", (Proj(env[y], f), replace_elem(t, {x: env[x]}))) for f, t in late)


def _is_key(condition: Elem, told: Mapping[str, Told]) -> bool:
    """Whether it says what a key is, which is said already."""
    pairs = {pair for x, t in told.items() for f, v in t.key for pair in ((Proj(Var(x), f), v), (v, Proj(Var(x), f)))}
    return isinstance(condition, Call) and condition.fn == "eq" and condition.args in pairs


def _wanted(told: Mapping[str, Told], loose: Iterable[str], around: Around) -> list[str]:
    """The rows to be read, in the order of the term: those of which something is ``loose``, and those beside them."""
    found, todo = set[str](), [*loose]
    while todo:
        x = todo.pop()
        if x not in found:
            found.add(x)
            todo += told[x].beside
    return [x for x in around.rows if x in found]


def _asks(g: Group | Top) -> Asks:
    """What it asks of its rows, if that is all that it does."""
    match g:
        case Group(_, var, _, None, (Fold(_, "any" | "all" as fn, args),)) if args == (Var(var),):
            return fn
    return None
