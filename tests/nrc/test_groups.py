"""Groups in the calculus: types, meaning, text, and what cannot be one."""

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
from ripplenest.nrc.syntax import Expr, Query
from ripplenest.nrc.walk import unique_binders


def made(c: Choices) -> tuple[Schema, Expr]:
    schema = random_schema(c)
    return schema, grouped_query(c, schema)


@law(made, examples=many(31, 1000))
def test_law_7_with_groups(found: tuple[Schema, Expr]) -> None:
    """parse(show(e)) = e, also of its lines, and of its JSON."""
    schema, e = found
    for term in (e, simplify(e), unique_binders(e)):
        for text in (show(term), *("\n".join(layout(term, width)) for width in (30, 60, 100))):
            assert parse_expr(text, environment_of(term)) == term, text
        query = Query("V", term, schema.relations)
        assert query_from_json(query_to_json(query)) == query
