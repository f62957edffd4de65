"""What the compiler asks of a query before it makes a program of it."""

import pytest

from ripplenest.delta.compile import compile_view
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.syntax import Call, Expr, For, Pred, Proj, Query, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, Bag, Record

ROW = Record((("a", LONG), ("os", Bag(LONG))))
R = Rel("R", ROW)


def others(site: str, fn: str) -> Expr:
    """sng_ι(for y in R where y.a fn x.a union sng(y.a))"""
    a, b = Proj(Var("y"), "a"), Proj(Var("x"), "a")
    return SngBag(site, For("y", R, For("_", Pred(Call(fn, (a, b))), Sng(a))))


@pytest.mark.parametrize(("first", "second"), [("ι", "ι"), ("ι", "R.os"), ("R", "ι")])
def test_sites_are_apart(first: str, second: str) -> None:
    """Two definitions under one name would be taken for one, which is a wrong answer; so would a stored part."""
    head = Sng(Tuple((("b", Var("b")), ("c", Var("c")))))
    body = For("x", R, For("b", others(first, "eq"), For("c", others(second, "ne"), head)))
    with pytest.raises(QueryError, match="a name of its own"):
        compile_view(Query("v", body, (("R", ROW),)))
