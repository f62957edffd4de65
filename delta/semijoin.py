"""Semi-joins of an inner bag with rows that it has nothing to do with, as joins with its keys.

    for s in φ_α(y ∈ (for y in e where k(y) = v … union …); any()) union for _ in p(s) union C
        ⟶ for g in γ_α(y ∈ e; k(y)) union for _ in p(g.k = v) union C

where e depends on rows around it, v on others of them, C does not read s, and neither k nor … can fail. A key of γ is
there once, so C is there as often. φ is read for each combination of what e and v depend on, which nothing else may
join; γ is looked up by v.

Law (semijoin): ⟦joined e⟧ = ⟦e⟧.
"""

from collections.abc import Iterator, Set

from attrs import evolve

from ripplenest.delta.around import Around, rebuilt, rebuilt_dict
from ripplenest.delta.chain import Chain, chain
from ripplenest.nrc.normal import conjuncts, is_total
from ripplenest.nrc.syntax import Call, DictExpr, Elem, Expr, Fold, For, Group, Pred, Proj, Tuple, Var
from ripplenest.nrc.walk import free_vars

Key = tuple[str, Elem, Elem]  # a function, the value of a row that it compares, and what with


def joined(e: Expr) -> Expr:
    """``e``, a closed term whose variables are named apart, with such conditions as joins."""
    return _joined(e, Around())


def joined_dict(d: DictExpr) -> DictExpr:
    """The same of a definition."""
    return rebuilt_dict(d, Around(), _joined)


def _joined(e: Expr, around: Around) -> Expr:
    match e:
        case For(s, Group(_, _, _, None, (Fold(name, "any", ()),)) as g, For(_, Pred(cond), body)):
            found = _join(s, g, Proj(Var(s), name), cond, around)
            if found is not None and s not in free_vars(body):
                source, conditions = found
                return For(s, source, _where(conditions, _joined(body, around.where(s, around.row_of(source)))))
    return rebuilt(e, around, _joined)


def _join(s: str, g: Group, asked: Elem, cond: Elem, place: Around) -> tuple[Group, list[Elem]] | None:
    """The keys ``s`` of what ``g`` asks for a row of, and the conditions on them and on what is around, where one of
    these is ``asked``, that there is one. None where what γ is made of can fail, for rows that nobody asks for."""
    others = [t for t in conjuncts(cond) if t != asked]
    if asked not in conjuncts(cond) or any(s in free_vars(t) for t in others):
        return None
    rows = chain(g.of, g.var)
    inside, keys = [], list[Key]()
    own = frozenset(var for var, _ in rows.generators)
    around = frozenset[str]().union(*(free_vars(source) for _, source in rows.generators)) - own
    for t in (t for cond in rows.conditions for t in conjuncts(cond)):
        if free_vars(t) <= own | around:
            inside.append(t)
            continue
        key = next(_keys(t, own), None)
        if key is None:
            return None
        keys.append(key)
    if not around or all(free_vars(value) <= around for _, _, value in keys):
        return None
    for var, source in rows.generators:
        place = place.where(var, place.row_of(source))
    if not all(is_total(t, place.pi) for t in (*inside, *(own_value for _, own_value, _ in keys))):
        return None
    kept = evolve(rows, conditions=tuple(inside))
    names = [f"k{i}" for i in range(len(keys))]
    head = Tuple(tuple((name, own_value) for name, (_, own_value, _) in zip(names, keys, strict=True)))
    equal = (Call(fn, (Proj(Var(s), name), value)) for name, (fn, _, value) in zip(names, keys, strict=True))
    return _grouped(g, kept, head), [*others, *equal]


def _grouped(g: Group, rows: Chain, head: Tuple) -> Group:
    keys = tuple((name, Proj(Var(g.var), name)) for name, _ in head.fields)
    return Group(g.site, g.var, rows.term(head), keys, ())


def _keys(t: Elem, own: Set[str]) -> Iterator[Key]:
    """``t`` as an equality of a value of a row with something else."""
    match t:
        case Call("eq" | "same" as fn, (a, b)):
            for value, other in ((a, b), (b, a)):
                if free_vars(value) & own and free_vars(value) <= own and not free_vars(other) & own:
                    yield fn, value, other


def _where(conditions: list[Elem], body: Expr) -> Expr:
    for cond in reversed(conditions):
        body = For("_", Pred(cond), body)
    return body
