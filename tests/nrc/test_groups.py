"""Groups in the calculus: types, meaning, text, and what cannot be one."""

from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.queries import grouped_query
from support.schemas import Schema, random_schema
from support.sizes import many

from ripplenest.nrc.printing.layout import layout
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.serial import query_from_json, query_to_json
from ripplenest.nrc.surface.text.environment import environment_of
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Elem, Expr, Proj, Query, SngBag, Sorting, Top, Var
from ripplenest.nrc.walk import rebuild, unique_binders


def made(c: Choices) -> tuple[Schema, Expr]:
    schema = random_schema(c)
    return schema, grouped_query(c, schema)


def _ordered(e: Expr) -> Expr:
    """``e`` with the order of first rows where inner bags show them, if rows have what they are ordered by."""
    match e:
        case SngBag(_, Top(_, var, of, order) as top, ()):
            shown = [
                Sorting(tuple(path), o.descending, o.nulls_first)
                for o in order
                if (path := _path(o.by, var)) is not None
            ]
            return evolve(e, body=evolve(top, of=_ordered(of)), sorted=tuple(shown) if len(shown) == len(order) else ())
        case _:
            return rebuild(e, _ordered, lambda t: t, lambda d: d)


def _path(t: Elem, var: str) -> list[str] | None:
    match t:
        case Var(name) if name == var:
            return []
        case Proj(of, field) if (above := _path(of, var)) is not None:
            return [*above, field]
    return None


@law(made, examples=many(31, 1000))
def test_law_7_with_groups(found: tuple[Schema, Expr]) -> None:
    """parse(show(e)) = e, also of its lines, and of its JSON; but an inner bag of first rows is read as shown in their
    order."""
    schema, e = found
    for term in (e, simplify(e), unique_binders(e)):
        for text in (show(term), *("\n".join(layout(term, width)) for width in (30, 60, 100))):
            assert parse_expr(text, environment_of(term)) == _ordered(term), text
        query = Query("V", term, schema.relations)
        assert query_from_json(query_to_json(query)) == query
