"""Semi-joins of an inner bag with rows that it has nothing to do with, as joins with its keys.

    for s in φ_α(y ∈ (for y in e where k(y) = v … union …); any()) union for _ in p(s) union C
        ⟶ for g in γ_α(y ∈ e; k(y)) union for _ in p(g.k = v) union C

where e and v depend on several rows around them, C does not read s, and neither k nor … can fail. A key of γ is there
once, so C is there as often; without a k it has one key, that a row is there. φ is read for each combination of what e
and v depend on, which nothing else may join; γ is looked up by each of these. The fold may be ``count()`` that is asked
to be more than 0, and other folds, which do not read s, may stand before p, as where two of them are asked together.

Law (semijoin): ⟦joined e⟧ = ⟦e⟧.
"""

from collections.abc import Sequence, Set

from attrs import evolve

from ripplenest.delta.around import Around, rebuilt, rebuilt_dict
from ripplenest.delta.chain import Chain, chain
from ripplenest.delta.groups.exists import Equated, equated
from ripplenest.nrc.rewriting.normal import conjuncts, is_total, where
from ripplenest.nrc.rewriting.presence import is_presence
from ripplenest.nrc.syntax import TRUE, Call, DictExpr, Elem, Expr, Fold, For, Group, Pred, Proj, Tuple, Var
from ripplenest.nrc.walk import free_vars, read_by

Total = tuple[str, Group]  # a fold, and what its row is called


def joined(e: Expr) -> Expr:
    """``e``, a closed term whose variables are named apart, with such conditions as joins."""
    return _joined(e, Around())


def joined_dict(d: DictExpr) -> DictExpr:
    """The same of a definition."""
    return rebuilt_dict(d, Around(), _joined)


def _joined(e: Expr, around: Around) -> Expr:
    match e:
        case For(s, Group(_, _, _, None, (Fold(name, "any" | "count" as fn, ()),)) as g, body):
            between, below = _folds(body)
            match below:
                case For(_, Pred(cond), rest) if s not in free_vars(rest) | _read(between):
                    found = _join(g, [*conjuncts(cond)], s, Proj(Var(s), name), fn, around)
                    if found is not None:
                        source, equal, others = found
                        inner = where(equal, _after(between, where(others, rest)))
                        return For(s, source, _joined(inner, around.where(s, around.row_of(source))))
    return rebuilt(e, around, _joined)


def _folds(e: Expr) -> tuple[list[Total], Expr]:
    """The folds, of one row each, that ``e`` begins with, and what is below them."""
    found: list[Total] = []
    while isinstance(e, For) and isinstance(e.source, Group) and e.source.keys is None:
        found.append((e.var, e.source))
        e = e.body
    return found, e


def _read(between: Sequence[Total]) -> frozenset[str]:
    return read_by(g for _, g in between)


def _after(between: Sequence[Total], e: Expr) -> Expr:
    for s, g in reversed(between):
        e = For(s, g, e)
    return e


def _join(
    g: Group, conditions: list[Elem], s: str, answer: Elem, fn: str, place: Around
) -> tuple[Group, list[Elem], list[Elem]] | None:
    """The keys ``s`` of what ``g`` asks for a row of, the conditions on them, and those on what is around, where one of
    ``conditions`` asks that the ``answer`` of ``fn`` says there is one. None where one row is all that is around, and
    where what γ is made of can fail, for rows that nobody asks for."""
    others = [t for t in conditions if not is_presence(t, answer, fn)]
    if len(others) == len(conditions) or any(s in free_vars(t) for t in others):
        return None
    rows = chain(g.of, g.var)
    own = rows.own
    around = read_by(source for _, source in rows.generators) - own
    divided = _divided(rows, own, around)
    if divided is None:
        return None
    inside, keys = divided
    if len(around.union(*(free_vars(value) for _, _, value in keys))) < 2:
        return None
    inner = place.inside(rows.generators)
    if not all(is_total(t, inner.pi) for t in (*inside, *(own_value for _, own_value, _ in keys))):
        return None
    kept = evolve(rows, conditions=tuple(inside))
    names = [f"k{i}" for i in range(len(keys))]
    fields = tuple((name, own_value) for name, (_, own_value, _) in zip(names, keys, strict=True))
    head = Tuple(fields or (("there", TRUE),))
    equal: list[Elem] = [
        Call(op, (Proj(Var(s), name), value)) for name, (op, _, value) in zip(names, keys, strict=True)
    ]
    return _grouped(g, kept, head), equal, others


def _divided(rows: Chain, own: Set[str], around: Set[str]) -> tuple[list[Elem], list[Equated]] | None:
    """The conditions of ``rows`` on themselves and on what is ``around`` their sources, and those that equate them with
    something else; None where one is neither."""
    inside, keys = list[Elem](), list[Equated]()
    for t in rows.conjuncts:
        key = next(equated(t, own), None)
        if free_vars(t) <= own | around:
            inside.append(t)
        elif key is not None:
            keys.append(key)
        else:
            return None
    return inside, keys


def _grouped(g: Group, rows: Chain, head: Tuple) -> Group:
    keys = tuple((name, Proj(Var(g.var), name)) for name, _ in head.fields)
    return Group(g.site, g.var, rows.term(head), keys, ())
