"""Shredding of single terms: the paper's ``related`` (nrc-ivm, section 2.2) and the corners of labels and scopes."""

import pytest
from support.nesting import nested
from support.related import JARHEAD, MOVIE, MOVIES, RELATED, M, is_related, path

from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.interpret import evaluate, look_up
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import (
    At,
    Call,
    DictLit,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Flatten,
    For,
    InL,
    Let,
    LetVar,
    OutL,
    Plus,
    Pred,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Label, Record, Site
from ripplenest.shred.contexts import BagContext, RecordContext, dictionaries
from ripplenest.shred.terms import shred

FIELDS = ("name", "gen", "dir")
SITE = Site("ι", tuple((f"m.{f}", t) for f, t in MOVIE.fields))
PARAMETERS = {f: OutL(Var("l"), SITE, f"m.{f}") for f in FIELDS}
DEFINITION = For(
    "m2",
    M,
    For("_", Pred(is_related(PARAMETERS["name"], PARAMETERS["gen"], PARAMETERS["dir"], "m2")), Sng(path("m2", "name"))),
)


def test_the_papers_related() -> None:
    """related^F ≡ for m in M union sng(⟨m.name, ⟨ι, m⟩⟩)

    related^Γ(ℓ) ≡ for m2 in M where isRelated(ℓ.2, m2) union sng(m2.name)
    """
    s = shred(RELATED)
    label = InL("ι", tuple((f"m.{f}", path("m", f)) for f in FIELDS))
    assert simplify(s.flat) == For("m", M, Sng(Tuple((("name", path("m", "name")), ("related", label)))))
    (definition,) = dictionaries(s.context)
    assert simplify_dict(definition) == DictLit(SITE, "l", DEFINITION)


def test_the_papers_output_of_the_shredded_queries() -> None:
    """related^F[M] and related^Γ[M]: Drive ↦ {}, Skyfall ↦ {Rush}, Rush ↦ {Skyfall}."""
    s = shred(RELATED)
    (definition,) = dictionaries(s.context)
    found = {}
    for row, n in evaluate(s.flat, {"M": MOVIES}):
        (_, name), (_, label) = row  # type: ignore[misc]
        assert n == 1 and isinstance(label, LabelValue) and label.args[0] == name
        found[name] = look_up(definition, label, {"M": MOVIES}, {}, {})
    assert found == {"Drive": BagValue(), "Skyfall": BagValue({"Rush": 1}), "Rush": BagValue({"Skyfall": 1})}


def test_the_papers_deltas() -> None:
    """δ(related^F) and δ(related^Γ) read ΔM in the place of M, and nothing else."""
    s = shred(RELATED)
    change = Rel("M", MOVIE, At.DELTA)
    changed = frozenset({"M"})
    assert delta(s.flat, changed) == _reading(simplify(s.flat), change)
    (definition,) = dictionaries(s.context)
    by_delta = simplify_dict(delta_dict(definition, Scope(changed, telescoped=False)))
    assert by_delta == DictLit(SITE, "l", _reading(DEFINITION, change))
    assert (
        evaluate(delta(s.flat, changed), {"M": MOVIES, "ΔM": JARHEAD}).counts.keys()
        == evaluate(s.flat, {"M": JARHEAD}).counts.keys()
    )


def _reading(e: Expr, source: Rel) -> Expr:
    assert isinstance(e, For)
    return For(e.var, source, e.body)


# ---------------------------------------------------------------- labels

ROW = Record((("a", LONG), ("b", LONG)))
R = Rel("R", ROW)
DB = {"R": BagValue({(("a", 1), ("b", 2)): 1, (("a", 2), ("b", 2)): 1})}


def only_label(s: Expr) -> InL:
    assert isinstance(s, For) and isinstance(s.body, Sng) and isinstance(s.body.elem, InL)
    return s.body.elem


def test_a_label_holds_only_what_the_bag_uses() -> None:
    """⟨ι, the values of the variables that e^F really uses⟩: two rows with the same b share a label."""
    where = Call("eq", (path("y", "b"), path("x", "b")))
    e = For("x", R, SngBag("ι", For("y", R, For("_", Pred(where), Sng(Var("y"))))))
    s = shred(e)
    assert only_label(s.flat).args == (("x.b", path("x", "b")),)
    assert set(evaluate(s.flat, DB).counts.values()) == {2}
    assert nested(s, DB) == evaluate(e, DB)


def test_a_record_used_whole_is_the_record_of_its_fields() -> None:
    """Parameters are base values or labels, never records."""
    e = For("x", R, SngBag("ι", Sng(Var("x"))))
    s = shred(e)
    assert [name for name, _ in only_label(s.flat).args] == ["x.a", "x.b"]
    assert nested(s, DB) == evaluate(e, DB)


@pytest.mark.parametrize("name", ["l", "l1", "d", "x"])
def test_a_definition_does_not_capture_its_own_label(name: str) -> None:
    """[(ι,Π) ↦ for l in … outL(l).p …] would read the wrong l."""
    where = Call("eq", (path(name, "a"), path("y", "a")))
    e = For("y", R, SngBag("ι", For(name, R, For("_", Pred(where), Sng(path(name, "b"))))))
    s = shred(e)
    assert nested(s, DB) == evaluate(e, DB)


def test_lets_are_inside_the_definitions_that_use_them() -> None:
    """A dictionary is closed: what it takes from a let comes with it, parameters of the let included."""
    e = For("x", R, Let("X", Sng(path("x", "a")), SngBag("ι", For("y", R, LetVar("X")))))
    s = shred(e)
    assert isinstance(s.context, BagContext) and isinstance(s.context.dictionary, DictLit)
    check(s.context.dictionary.body, None, {s.context.dictionary.var: Label((s.context.dictionary.site,))})
    assert nested(s, DB) == evaluate(e, DB)


def test_a_nested_label_is_a_parameter() -> None:
    """An inner bag that is used in a definition is there as its label."""
    n = Rel("N", Record((("k", LONG), ("os", Bag(LONG)))))
    e = For("c", n, SngBag("ι", Flatten(Sng(path("c", "os")))))
    s = shred(e)
    assert only_label(s.flat).args == (("c.os", path("c", "os")),)
    (definition,) = dictionaries(s.context)
    assert isinstance(definition, DictLit)
    assert isinstance(definition.site.params[0][1], Label)


def test_contexts_of_sums_are_united() -> None:
    """sh^Γ(e₁ ⊎ e₂) = e₁^Γ ∪ e₂^Γ, field by field; equal dictionaries are one."""
    n = Rel("N", Record((("os", Bag(LONG)),)))
    made = For("b", SngBag("ι", Sng(Proj(Var("x"), "a"))), Sng(Tuple((("os", Var("b")),))))
    both = shred(Plus(n, For("x", R, made))).context
    assert isinstance(both, RecordContext)
    (united,) = dictionaries(both)
    assert isinstance(united, DictUnion) and united.left == DictRel("N.os", LONG)
    (same,) = dictionaries(shred(Plus(n, n)).context)
    assert same == DictRel("N.os", LONG)


def test_a_label_beside_an_empty_bag_is_never_null() -> None:
    """∅ of rows whose bag may be NULL holds no NULL; columns could not tell one from a label whose values are NULL."""
    nothing = Empty(Record((("os", Bag(LONG, True)),)))
    made = For("b", SngBag("ι", Sng(Proj(Var("x"), "a"))), Sng(Tuple((("os", Var("b")),))))
    query = Let("X", nothing, Plus(LetVar("X"), For("x", R, made)))
    assert check(query).row == nothing.row
    row = check(shred(query).flat).row
    assert isinstance(row, Record)
    label = row.get("os")
    assert isinstance(label, Label) and [s.name for s in label.sites] == ["ι"] and not label.nullable


def test_names_do_not_depend_on_what_came_before() -> None:
    """The same term is shredded to the same terms, whatever was shredded earlier."""
    first = shred(RELATED)
    shred(For("m", M, SngBag("κ", M)))
    assert shred(RELATED) == first
