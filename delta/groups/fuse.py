"""Fuse: what folds the rows of a group, or of one key of it, is folded with the group.

    for k in γ_α(x ∈ e; t; f) union C[φ_β(y ∈ e where t(y) <=> k.t; g)]
        ⟶ for k in γ_α(x ∈ e; t; f, g) union C[sng(⟨k.g⟩)]
    for s in φ_α(x ∈ e; f) union C[φ_β(y ∈ e; g)]
        ⟶ for s in φ_α(x ∈ e; f, g) union C[sng(⟨s.g⟩)]
    … φ_β(y ∈ e where t(y) <=> k.t and c; sum(v)) …  ⟶  … γ_α(x ∈ e; t; sum(if c then v else NULL)) …

where e are rows of one table, which c asks alone. A key of a group has rows, and they are those that φ folds: so both
have one map, whose rows are read once. It is what a fold of the rows of a group-by stands for, once it is shredded.
Several folds of one bag are one map, too. A fold that rows are compared with, of which something is folded in turn,
stays where it is, as a threshold that moves: those rows change that lie between the old one and the new one, where all
would be folded again for another label. Where φ asks for t(y) = k.t, it folds nothing for the key that is NULL, and so
reads

    union C[sng(⟨if k.t is NULL then g of nothing else k.g⟩)]

Where C asks something before φ, which has no value for some rows, φ is folded of what C asks for:

    for k in γ_α(x ∈ e; t; f) union for _ in p(c(k.t)) union C[φ_β(y ∈ e where t(y) <=> k.t; g)]
        ⟶ for k in γ_α(x ∈ e where c(t(x)); t; f, g) union for _ in p(c(k.t)) union C[sng(⟨k.g⟩)]

if c asks the key alone (``having.py``); else φ stays as it is, and is asked for at the places that are left.

Law (fuse): ⟦fuse h⟧ = ⟦h⟧.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce

from attrs import evolve, frozen

from ripplenest.delta.around import Around, rebuilt, rebuilt_dict
from ripplenest.delta.chain import Chain, chain, read
from ripplenest.delta.groups.exists import asked, asked_dict
from ripplenest.delta.groups.having import of_keys
from ripplenest.delta.groups.semijoin import joined, joined_dict
from ripplenest.nrc.functions import folds
from ripplenest.nrc.functions.folds import ADDED, EXTREME
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.normal import asked as begin
from ripplenest.nrc.rewriting.normal import conjunction, is_partial, is_sure, where
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import (
    TRUE,
    Call,
    DictExpr,
    DictLit,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Let,
    Lit,
    Pred,
    Proj,
    Sng,
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Type, may_be_null
from ripplenest.nrc.walk import (
    canonical,
    free_vars,
    nodes,
    rebuild,
    rebuild_dict,
    replace,
    replace_let,
    unique_binders,
    unique_dict_binders,
)

ROW = "row"
OF_SOME = (*ADDED, "any", "all")  # folds of which some argument of a row adds nothing


@frozen
class _Folded:
    """Folds over the rows of a key, and the values of the key that were asked for by = and not <=>."""

    folds: tuple[Fold, ...]
    equal: tuple[Elem, ...]


def fuse(e: Expr) -> Expr:
    """A shredded term whose groups fold what is folded of their keys. Its variables are named apart, so that none that
    stands between a group and a fold is taken for one of the group."""
    return _fuse(joined(asked(unique_binders(simplify(_inlined(unique_binders(e)))))), Around())


def fuse_nested(e: Expr) -> Expr:
    """A nested term whose groups fold what is folded of the rows of their keys, where these are read as they are."""
    return _fuse(unique_binders(e), Around())


def fuse_dict(d: DictExpr) -> DictExpr:
    """The same of a definition."""
    apart = joined_dict(asked_dict(unique_dict_binders(simplify_dict(_inlined_dict(unique_dict_binders(d))))))
    return rebuilt_dict(apart, Around(), _fuse)


def _inlined(e: Expr) -> Expr:
    """``e`` without lets of what holds no group: a bag with a name is the same bag wherever it is read."""
    match e:
        case Let(name, bound, body) if not any(isinstance(n, Group | Top) for n in nodes(bound)):
            return replace_let(_inlined(body), name, _inlined(bound))
        case _:
            return rebuild(e, _inlined, lambda t: t, _inlined_dict)


def _inlined_dict(d: DictExpr) -> DictExpr:
    return evolve(d, body=_inlined(d.body)) if isinstance(d, DictLit) else rebuild_dict(d, _inlined, _inlined_dict)


def _fuse(e: Expr, around: Around) -> Expr:
    match e:
        case For(k, Group() as g, body) if not (g.keys is None and _is_answered_by_a_row(g)):
            group = evolve(g, of=_fuse(g.of, around))
            row = around.row_of(g)
            return _fused(k, group, row, _fuse(body, around.where(k, row)), around)
        case _:
            return rebuilt(e, around, _fuse)


def _fused(k: str, g: Group, row: Type, body: Expr, around: Around) -> Expr:
    """for k in g union body, ``around`` which rows of g are of type ``row``"""
    rows = chain(g.of, g.var)
    found: list[Fold] = []

    def inside(e: Expr, within: bool = False, behind: bool = False) -> Expr:
        match e:
            case For(s, Group() as kept, below) if within and _is_compared(s, below):
                return For(s, evolve(kept, of=inside(kept.of, True, behind)), inside(below, True, behind))
            case For(var, Pred() as condition, below):
                return For(var, condition, inside(below, within, True))
            case Group(keys=None) if (own := _folded(e, g, k, rows, around)) is not None and not (
                behind and any(_has_gaps(f) and _known(f, g, rows, found) is None for f in own.folds)
            ):
                nulls = _nulls(own.equal, {k: row})
                columns = [Proj(Var(k), _column(f, e.site, g, rows, found)) for f in own.folds]
                answers = zip(own.folds, columns, strict=True)
                return Sng(Tuple(tuple((f.name, _unless(nulls, f, column)) for f, column in answers)))
            case _:
                deeper = partial(inside, within=within or isinstance(e, Group | Top), behind=behind)
                return rebuild(e, deeper, lambda t: t, lambda d: d)  # definitions are closed

    conditions, rest = begin(body) if is_partial(body) else ([], body)
    by_key = of_keys(conditions, g, k, rows)
    below = inside(where([c for c in conditions if c not in by_key], rest) if by_key else body)
    if any(map(_has_gaps, found)):
        rows = evolve(rows, conditions=(*rows.conditions, *by_key.values()))
    return For(k, _with(g, rows, found) if found else g, where([*by_key], below))


def _has_gaps(f: Fold) -> bool:
    """Whether what it folds has no value for some rows."""
    return any(map(is_partial, f.args))


def _is_compared(s: str, e: Expr) -> bool:
    """Whether rows of ``e`` are compared with what ``s`` answers."""
    return any(isinstance(n, Call) and n.fn in SWAPPED and s in free_vars(n) for n in nodes(e))


def _is_answered_by_a_row(e: Group) -> bool:
    """Whether it folds what is kept in order, and not added up (``delta/groups/ranking.py``)."""
    return any(f.fn in EXTREME for f in e.folds)


def _folded(e: Group, g: Group, k: str, rows: Chain, around: Around) -> _Folded | None:
    """The folds of ``e`` over the variables of ``rows``, if it folds those of the row ``k`` of g, or some of them."""
    other = chain(e.of, e.var)
    if _is_answered_by_a_row(e) or len(other.generators) != len(rows.generators):
        return None
    env: dict[str, Elem] = {}
    for (var, source), (own, wanted) in zip(other.generators, rows.generators, strict=True):
        if canonical(replace(source, env)) != canonical(wanted):
            return None
        env[var] = Var(own)
    conditions = [read(t, env) for t in other.conditions]
    equal: list[Elem] = []
    for key, value in _keys(g, k, rows):
        same = next((c for c in conditions if _equates(c, key, value)), None)
        if same is None:
            return None
        conditions.remove(same)
        equal += [value] if isinstance(same, Call) and same.fn == "eq" else []
    for cond in rows.conditions:
        if cond not in conditions:
            return None
        conditions.remove(cond)
    head = read(other.head, env)
    found = tuple(evolve(f, args=tuple(read(a, {e.var: head}) for a in f.args)) for f in e.folds)
    known = free_vars(g.of) | rows.own
    if any(free_vars(a) - known for f in found for a in f.args):
        return None
    if conditions and not _is_asked_of_rows(e, conditions, rows):
        return None
    types = around.inside(rows.generators).pi if conditions else {}
    return _Folded(tuple(_where(f, conditions, types) for f in found), tuple(equal))


def _is_asked_of_rows(e: Group, conditions: Sequence[Elem], rows: Chain) -> bool:
    """Whether ``conditions`` ask rows of one table alone, and have a value for all of them, and something else can be
    folded of those of which they are not true: where a clock is asked, or rows are joined, all would be folded again.
    """
    own = all(is_sure(t) and free_vars(t) <= rows.own for t in conditions)
    sure = all(is_sure(factor) for f in e.folds for factor in f.args[1:])
    return own and sure and len(rows.generators) == 1 and all(f.fn in OF_SOME for f in e.folds)


def _where(f: Fold, conditions: Sequence[Elem], types: Mapping[str, Type]) -> Fold:
    """``f`` of rows for which all conditions are true."""
    if not conditions:
        return f
    first, *others = f.args or (TRUE,)
    t = elem_type(first, types)
    assert isinstance(t, Base)
    nothing = TRUE if f.fn == "all" else Lit(None, evolve(t, nullable=True))
    where = Call("if", (conjunction(conditions), first, nothing))
    return evolve(f, args=(where, *others))


def _nulls(values: Iterable[Elem], pi: Mapping[str, Type]) -> list[Elem]:
    """Whether one of ``values`` is NULL, of each that may be."""
    return [Call("is_null", (t,)) for t in values if may_be_null(elem_type(t, pi))]


def _unless(nulls: Sequence[Elem], f: Fold, answer: Elem) -> Elem:
    """The ``answer`` of a fold, or what it is of nothing where a key is NULL that was asked for by =."""
    if not nulls:
        return answer
    some = reduce(lambda a, b: Call("or", (a, b)), nulls)
    return Call("if", (some, Lit(folds.answer(f.fn, (), f.type), f.type), answer))


def _keys(g: Group, k: str, rows: Chain) -> Iterator[tuple[Elem, Elem]]:
    """Each value of the key of a row of g, with that of the row ``k``."""
    for name, key in g.keys or ():
        yield from _values(rows.read(key, g.var), Proj(Var(k), name))


def _values(key: Elem, own: Elem) -> Iterator[tuple[Elem, Elem]]:
    if isinstance(key, Tuple):
        for name, value in key.fields:
            yield from _values(value, Proj(own, name))
    else:
        yield key, own


def _equates(cond: Elem, a: Elem, b: Elem) -> bool:
    match cond:
        case Call("same" | "eq", (left, right)):
            return (left, right) in ((a, b), (b, a))
    return False


def _column(fold: Fold, site: str, g: Group, rows: Chain, found: list[Fold]) -> str:
    """The column of g that the ``fold`` over the variables of ``rows`` becomes; equal ones are one."""
    if (known := _known(fold, g, rows, found)) is not None:
        return known
    taken = {name for name, _ in g.keys or ()} | {f.name for f in (*g.folds, *found)}
    found.append(fold if fold.name not in taken else evolve(fold, name=f"{site}.{fold.name}"))
    return found[-1].name


def _known(fold: Fold, g: Group, rows: Chain, found: Sequence[Fold]) -> str | None:
    """The column of g, or of those that it gets, which is the same ``fold``."""
    old = (evolve(f, args=tuple(rows.read(a, g.var) for a in f.args)) for f in g.folds)
    return next((known.name for known in (*old, *found) if evolve(known, name=fold.name) == fold), None)


def _with(g: Group, rows: Chain, found: list[Fold]) -> Group:
    """g with more folds, whose arguments are made with its rows."""
    values = tuple(dict.fromkeys(a for f in found for a in f.args))
    places = {a: f"a{i}" for i, a in enumerate(values)}
    head = Tuple(((ROW, rows.head), *((places[a], a) for a in values)))
    own: Mapping[str, Elem] = {g.var: Proj(Var(g.var), ROW)}
    keys = None if g.keys is None else tuple((name, read(t, own)) for name, t in g.keys)
    old = tuple(evolve(f, args=tuple(read(a, own) for a in f.args)) for f in g.folds)
    new = tuple(evolve(f, args=tuple(Proj(Var(g.var), places[a]) for a in f.args)) for f in found)
    return Group(g.site, g.var, rows.term(head), keys, (*old, *new))
