"""Products that no change reaches: of places of a group that none of its rows is made for.

    for s in Δα … where s.label.p ∈ ι₁ …  = ∅, where each row of α is made for a label p ∈ ι₂
    for s in Δα … where s.label.p = c …   = ∅, where each row of α is made for another p

A group of inner bags that different sites make has a place for each label of them; but of a bag that the view itself
makes empty, as of the optional side of an outer join, it folds nothing, ever. Nor does it fold rows for a side that is
not there, which outer joins of outer joins ask about. The trigger has such products as well.
"""

from collections.abc import Iterable, Iterator, Mapping

from ripplenest.delta.program import Map
from ripplenest.nrc.rewriting.normal import Comprehension, conjuncts, is_never
from ripplenest.nrc.syntax import At, Call, Elem, InL, IsSite, Lit, OutL, Proj, Tuple, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import may_be_null
from ripplenest.nrc.walk import replace_part

Made = Mapping[tuple[Elem, str], bool]  # of an element and a site whether the one is a label of the other


def reached(products: Iterable[Comprehension], maps: Mapping[str, Map]) -> tuple[Comprehension, ...]:
    """The ``products`` that changes reach, some of them of ``maps``, by name."""
    return tuple(c for c in products if not any(_is_beside(c, var, m) for var, m in _changed(c, maps)))


def _changed(c: Comprehension, maps: Mapping[str, Map]) -> Iterator[tuple[str, Map]]:
    return ((var, maps[rel.name]) for var, rel in c.generators if rel.at is At.DELTA and rel.name in maps)


def _is_beside(c: Comprehension, var: str, changed: Map) -> bool:
    """Whether ``c`` reads rows ``var`` for labels that no product of the map makes rows for."""
    wanted, equal = _said(c.conditions), dict(_constants(c.conditions, var))
    return bool(changed.products) and all(_differ(wanted, var, p) or _clash(equal, p) for p in changed.products)


def _differ(wanted: Made, var: str, made: Comprehension) -> bool:
    """Whether the labels that ``made`` has are of other sites."""
    args, known = _args(made), _said(made.conditions)
    return any(
        known.get((args[t.param], site), is_of) is not is_of
        for (t, site), is_of in wanted.items()
        if isinstance(t, OutL) and t.label == Proj(Var(var), "label") and t.param in args
    )


def _clash(wanted: Mapping[str, Lit], made: Comprehension) -> bool:
    """Whether no row of ``made`` has a label of these constants."""
    args, conditions = _args(made), made.conditions
    for param, constant in wanted.items():
        if (arg := args.get(param)) is None:
            continue
        if constant.value is None and not may_be_null(elem_type(arg, made.variables())):
            return True
        conditions = (*(replace_part(t, arg, constant) for t in conditions), Call("same", (arg, constant)))
    return any(map(is_never, conditions))


def _args(made: Comprehension) -> dict[str, Elem]:
    """What the labels of its rows hold."""
    label = made.head.get("label") if isinstance(made.head, Tuple) else None
    return dict(label.args) if isinstance(label, InL) else {}


def _constants(conditions: Iterable[Elem], var: str) -> Iterator[tuple[str, Lit]]:
    """The parameters of the label of ``var`` that are constants, by name."""
    for cond in (c for t in conditions for c in conjuncts(t)):
        match cond:
            case Call("eq" | "same", (OutL(Proj(Var(of), "label"), _, param), Lit() as value)) if of == var:
                yield param, value
            case Call("eq" | "same", (Lit() as value, OutL(Proj(Var(of), "label"), _, param))) if of == var:
                yield param, value


def _said(conditions: Iterable[Elem]) -> dict[tuple[Elem, str], bool]:
    """What conditions say of which site some labels are."""
    found: dict[tuple[Elem, str], bool] = {}
    for cond in (c for t in conditions for c in conjuncts(t)):
        match cond:
            case IsSite(t, site):
                found[t, site] = True
            case Call("not", (IsSite(t, site),)):
                found[t, site] = False
            case Call("eq" | "same", (IsSite(t, site), Lit(bool() as is_of)) | (Lit(bool() as is_of), IsSite(t, site))):
                found[t, site] = is_of
    return found
