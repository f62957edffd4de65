"""Conditions that come after a group, and ask its key alone, asked of its rows.

    for k in γ_α(x ∈ e; t; f) union for _ in p(c(k.t)) union e′
        ⟶  for k in γ_α(x ∈ (for x in e where c(t(x)) union sng(x)); t; f) union for _ in p(c(k.t)) union e′

Law (having): both have the same rows, as all rows of a key have it.
"""

from collections.abc import Sequence

from ripplenest.delta.chain import Chain, read
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.syntax import Elem, Group, Proj, Tuple, Var
from ripplenest.nrc.walk import free_vars, nodes


def of_keys(conditions: Sequence[Elem], g: Group, k: str, rows: Chain) -> dict[Elem, Elem]:
    """Those of ``conditions`` that ask the key of the row ``k`` of g alone, and what they ask of each of its rows."""
    keys = {name: rows.read(key, g.var) for name, key in g.keys or ()}
    asked = [c for c in conditions if free_vars(c) == {k} and _columns(c, k) <= keys.keys() and is_sure(c)]
    return {c: read(c, {k: Tuple(tuple(keys.items()))}) for c in asked}


def _columns(t: Elem, k: str) -> set[str]:
    """The columns of ``k`` that ``t`` reads."""
    return {n.field for n in nodes(t) if isinstance(n, Proj) and n.of == Var(k)}
