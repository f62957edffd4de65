"""Terms as they are shown: equal to those of the passes, without the names that passes need and readers do not."""

from ripplenest.nrc.printing.pretty import LABEL
from ripplenest.nrc.syntax import DictLit, Empty, Expr, For, Neg, Plus, Pred, Rel, Sng, Var, Weigh
from ripplenest.nrc.walk import free_vars, nodes, rebuild, replace


def is_sum(e: Expr) -> bool:
    """True for a sum of comprehensions over stored parts: for its own normal form, up to names and ``and``."""
    match e:
        case Plus(left, right):
            return is_sum(left) and is_sum(right)
        case Neg(of):
            return is_sum(of)
        case _:
            while isinstance(e, For) and isinstance(e.source, Rel | Pred | Weigh):
                e = e.body
            return isinstance(e, Sng | Empty)


def unnamed(e: Expr) -> Expr:
    """``e`` in which a for over a predicate binds ``_``, whatever a pass called it: ``where`` instead of ``where₁``. So
    does one over a weight."""
    if isinstance(e, For) and isinstance(e.source, Pred | Weigh) and not {e.var, "_"} & free_vars(e.body):
        return For("_", e.source, unnamed(e.body))
    return rebuild(e, unnamed, lambda t: t, lambda d: d)


def unnamed_dict(d: DictLit) -> DictLit:
    """The same for a definition, whose label has the name that is not printed, unless that is taken."""
    taken = free_vars(d.body) | {n.var for n in nodes(d.body) if isinstance(n, For | DictLit)}
    var = d.var if LABEL in taken else LABEL
    return DictLit(d.site, var, unnamed(replace(d.body, {d.var: Var(var)})))
