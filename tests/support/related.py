"""The paper's motivating example (nrc-ivm, section 2): films, the query ``related``, and the bags it should give."""

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.syntax import Call, Elem, For, Pred, Proj, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import Base, Record

TEXT = Base("string", nullable=True)
MOVIE = Record((("name", Base("string")), ("gen", TEXT), ("dir", TEXT)))
M = Rel("M", MOVIE)


def bag(*rows: tuple[str, str | None, str | None]) -> BagValue:
    """Films as ⟨name, gen, dir⟩."""
    return BagValue.of(tuple(zip(MOVIE.names, row, strict=True)) for row in rows)


MOVIES = bag(("Drive", "Drama", "Refn"), ("Skyfall", "Action", "Mendes"), ("Rush", "Action", "Howard"))
JARHEAD = bag(("Jarhead", "Drama", "Mendes"))


def path(var: str, name: str) -> Elem:
    return Proj(Var(var), name)


def is_related(a: Elem, gen: Elem, director: Elem, var: str) -> Elem:
    """var.name ≠ a and (var.gen = gen or var.dir = director)"""
    same = Call("or", (Call("eq", (path(var, "gen"), gen)), Call("eq", (path(var, "dir"), director))))
    return Call("and", (Call("ne", (path(var, "name"), a)), same))


COND = is_related(path("m", "name"), path("m", "gen"), path("m", "dir"), "m2")
BODY = For("m2", M, For("_", Pred(COND), Sng(path("m2", "name"))))
HEAD = Sng(Tuple((("name", path("m", "name")), ("related", Var("b")))))
RELATED = For("m", M, For("b", SngBag("ι", BODY), HEAD))
"""for m in M union for b in sng_ι(relB(m)) union sng(⟨m.name, b⟩)"""


def related_rows(*rows: tuple[str, ...]) -> BagValue:
    """Each film followed by the films that it is related to."""
    return BagValue.of((("name", name), ("related", BagValue.of(others))) for name, *others in rows)
