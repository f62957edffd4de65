"""Rows that a state holds together: of a batch that changes several sources of a product, those before and those after.

Triggers ask about rows that were and rows that came together, ΔR ⋈ T ⊎ (R ⊎ ΔR) ⋈ ΔT: the first row of a group with
the number of its rows before, which is 0. No state holds these two, and what they make comes to nothing in the end; but
100 / n has no value for them. With the rows that stay, R° = R less those that go, the same change is

    Δ⁺R ⋈ (T ⊎ ΔT) ⊎ Δ⁻R ⋈ T ⊎ R° ⋈ ΔT

and each combination in it is one of the state before the batch, or of the one after it. It reads more, and so is asked
where something had no value. The products of one map take one way, whatever those of others do. Of a sum map it is not
known what the rows that stay add up to: where the batch changes what it is of, who reads it has no such way; nor has it
itself, as others read it as of the turn of a part.

Law: both make the same change. What has a value before a batch and after it, has one for all that is joined here.
"""

from collections.abc import Collection, Iterable
from typing import Literal

from ripplenest.data import columnar
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product

Sign = Literal["came", "went"]
SIGNS: tuple[Sign, ...] = ("came", "went")


def are_of_one_state(m: PlannedMap, products: Iterable[Product], plan: Plan, changes: Collection[str]) -> bool:
    """Whether rows of one state make what the ``products`` of a map for all changed parts do: each of one change, and
    without sum maps of what changes."""
    return m.name not in plan.auxiliaries and all(_is_of_one_state(p, plan, changes) for p in products)


def _is_of_one_state(p: Product, plan: Plan, changes: Collection[str]) -> bool:
    maps = (plan.by_name[s.table] for s in p.sources if s.table in plan.auxiliaries)
    changed = any(part in changes for m in maps for part, _ in m.triggers)
    return not changed and sum(s.at is At.DELTA for s in p.sources) == 1


def of_sign(change: Rows, sign: Sign) -> Rows:
    """The rows of a change that came, or those that went."""
    once = change.consolidated()
    return columnar.positive(once) if sign == "came" else columnar.negative(once)


def beside(before: Rows, change: Rows, at: At, sign: Sign) -> Rows:
    """The rows of another source that go with them: those that stay, of one that is read as it comes to be, of which
    others ask what comes and goes; of one that is read as it was, all that are in one state with them."""
    if at is At.NEW:
        return before.plus(of_sign(change, "went"))
    return before.plus(change) if sign == "came" else before
