"""All rules together, of views whose rows have names, say the same; and names are given up where a rule gains by it."""

from collections import Counter

from support.joined import joined_case
from support.laws import law
from support.sizes import many
from support.strategies import Case

from ripplenest.delta.groups.fuse import fuse_nested
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.once import everywhere, once
from ripplenest.nrc.rewriting.rewritten import rewritten
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Expr, Group, Let, SngBag
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes

COUNTS: Counter[str] = Counter()


def names(e: Expr) -> int:
    return sum(isinstance(n, Let) for n in nodes(e))


def bags(e: Expr) -> int:
    return sum(isinstance(n, SngBag) for n in nodes(e))


@law(joined_case, examples=many(280, 6_000))
def test_they_are_the_same_rows(case: Case) -> None:
    nested = simplify(once(case.query))
    found = rewritten(nested, dict(case.schema.relations), case.schema.keys, fuse_nested)
    assert check(found) == check(nested)
    try:
        meant = evaluate(nested, case.db)
    except EvaluationError:
        return
    assert evaluate(found, case.db) == evaluate(everywhere(nested), case.db) == meant
    copied = names(found) < names(nested)
    COUNTS["copied"] += copied
    COUNTS["kept"] += names(found) > 0 and everywhere(nested) is not nested
    groups = [n for n in nodes(nested) if isinstance(n, Group)]
    COUNTS["rows of groups"] += bags(found) < bags(nested)
    COUNTS["of distinct rows"] += copied and any(g.keys for g in groups)
    COUNTS["of some"] += copied and any(f.fn == "any" for g in groups for f in g.folds)


def test_enough_was_met() -> None:
    if COUNTS:
        assert min(COUNTS.values()) > many(5, 80), COUNTS
