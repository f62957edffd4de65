"""Verdicts: each way not to be efficiently incremental is named with its advice, and following the advice mends it."""

import pytest
from attrs import field, frozen
from support.choices import Choices
from support.correlated import correlated_query
from support.laws import law
from support.related import MOVIE, RELATED, path
from support.schemas import random_schema

from ripplenest.cost.called import Called
from ripplenest.cost.domains import BagCost
from ripplenest.cost.sizes import derived_sizes, stored_sizes
from ripplenest.cost.verdict import Verdict, verdict
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import normal, term
from ripplenest.nrc.rewriting.simplify import simplify_dict
from ripplenest.nrc.syntax import (
    TRUE,
    UNIT_ELEM,
    At,
    Call,
    DictLit,
    DictRel,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Lit,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
)
from ripplenest.nrc.types import BOOL, INT, LONG, STRING, UNIT, Bag, Record
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.domains import domain_row
from ripplenest.shred.sites import defined, keep
from ripplenest.shred.terms import shred

ROW = Record((("k", LONG), ("x", LONG), ("kind", STRING), ("n", INT), ("flag", STRING), ("yes", BOOL)))
M, S, T = Rel("M", ROW), Rel("S", ROW), Rel("T", ROW)
SIZES = stored_sizes({"M": ROW, "S": ROW, "T": ROW}, {})


def join(*conditions: Elem, tables: tuple[Rel, ...] = (M, S)) -> Expr:
    """for m in M for s in S … where conditions union sng(⟨m, s⟩)"""
    e: Expr = Sng(Tuple((("m", path("m", "x")), ("s", path("s", "x")))))
    for cond in reversed(conditions):
        e = For("_", Pred(cond), e)
    for r in reversed(tables):
        e = For(r.name.lower(), r, e)
    return e


def when(h: Expr, *changed: str, rows: dict[str, int] | None = None) -> Verdict:
    sizes = stored_sizes({"M": ROW, "S": ROW, "T": ROW}, {}, rows) if rows else SIZES
    return verdict(h, delta(h, frozenset(changed or ("M",)), telescoped=True), sizes)


def call(fn: str, a: Elem, b: Elem) -> Elem:
    return Call(fn, (a, b))


def eq(a: Elem, b: Elem) -> Elem:
    return call("eq", a, b)


def s(name: str) -> Elem:
    return path("s", name)


def m(name: str) -> Elem:
    return path("m", name)


BY_KEY, LESS, A = eq(s("k"), m("k")), call("lt", s("x"), m("x")), Lit("A", STRING)


@frozen
class Mend:
    """A join that is not efficiently incremental, what has to be said about it, and what follows its advice."""

    bad: Expr
    reason: str
    advice: str
    good: Expr
    notes: list[str] = field(factory=list)


PAID = "when M changes, every row of S is read where `{}` (size |S|); each of its rows is part of the result"
MENDS = {
    "comparison": Mend(
        join(LESS),
        "`s.x < m.x` says where one end is, and all beyond it is read",
        "equate a column of S with a column of M, beside this condition",
        join(LESS, BY_KEY),
    ),
    "one end": Mend(
        join(LESS),
        "`s.x < m.x` says where one end is, and all beyond it is read",
        "compare a column of S from the other side, too; or equate a column of S with",
        join(LESS, call("ge", s("x"), m("k"))),
    ),
    "one end, of a wider type": Mend(
        join(call("lt", Call("to_long", (s("n"),)), m("x"))),
        "`to_long(s.n) < m.x` says where one end is, and all beyond it is read",
        "compare a column of S from the other side, too; or equate a column of S with",
        join(*(call(fn, Call("to_long", (s("n"),)), m(name)) for fn, name in (("lt", "x"), ("ge", "k")))),
    ),
    "function": Mend(
        join(call("starts_with", s("kind"), m("kind"))),
        "`starts_with(s.kind, m.kind)` is no equality",
        "equate a column of S with a column of M",
        join(call("starts_with", s("kind"), m("kind")), eq(s("flag"), m("flag"))),
    ),
    "or": Mend(
        join(call("or", BY_KEY, LESS)),
        "`s.k = m.k or s.x < m.x` is an `or`, and its side `s.x < m.x` is no equality between two tables",
        "equate a column of S with a column of M, in every side of the `or`",
        join(call("or", BY_KEY, call("and", LESS, eq(s("flag"), m("flag"))))),
    ),
    "or with a constant": Mend(
        join(call("or", BY_KEY, eq(s("kind"), A))),
        'is an `or`, and its side `s.kind = "A"` holds for the same rows whatever changed',
        "equate a column of S with a column of M, in every side of the `or`",
        join(call("or", BY_KEY, call("and", eq(s("kind"), A), eq(s("flag"), m("flag"))))),
    ),
    "computed": Mend(
        join(eq(Call("upper", (s("kind"),)), Call("upper", (m("kind"),)))),
        "computes its side `upper(s.kind)` from S, and only stored columns are looked up",
        "store `upper(s.kind)` as a column of S, and equate that",
        join(eq(s("flag"), Call("upper", (m("kind"),)))),
    ),
    "types": Mend(
        join(eq(m("x"), Call("to_long", (s("n"),)))),
        "compares `s.n`, of type int, with a value of type long",
        "compare columns of one type: declare `s.n` as long",
        join(eq(m("x"), s("k"))),
    ),
    "both sides": Mend(
        join(eq(s("k"), call("add_long", s("x"), m("x")))),
        "has columns of S on both sides of =",
        "store what the two say together as one column of S",
        join(eq(s("x"), m("x"))),
    ),
    "own column": Mend(
        join(s("yes")),
        "`s.yes` is a condition of its own, no equality",
        "say `s.yes` = true",
        join(eq(s("yes"), TRUE)),
        [PAID.format("s.yes = true")],
    ),
    "own rows": Mend(
        join(call("lt", s("x"), Lit(3, LONG))),
        "`s.x < 3` is no equality",
        "compare a column of S with a constant by =",
        join(eq(s("flag"), A)),
        [PAID.format('s.flag = "A"')],
    ),
}


@pytest.mark.parametrize("name", MENDS)
def test_advice_mends(name: str) -> None:
    mend = MENDS[name]
    found = when(mend.bad)
    assert not found.incremental
    (finding,) = found.findings
    assert finding.node == "for s in S"
    where, told = mend.reason.split(" says where one end is")[0], "one end" in mend.reason
    read = f"every row of S is read where {where}" if told else "S is read whole"
    assert finding.reason.startswith(f"when M changes, {read} (size |S|), and what does not fit is thrown away")
    assert mend.reason in finding.reason
    assert mend.advice in finding.advice
    mended = when(mend.good)
    assert mended.incremental, str(mended)
    assert [f.reason for f in mended.findings] == mend.notes


def test_what_is_paid_for_by_the_result() -> None:
    """A product reads all of S, and each row makes one; what constants find does, too: a note."""
    for h, read in (
        (join(), "S is read whole"),
        (join(call("lt", m("x"), m("k"))), "S is read whole"),  # a condition on the change alone comes first
        (join(eq(s("kind"), A)), 'every row of S is read where `s.kind = "A"`'),
    ):
        found = when(h)
        assert found.incremental
        assert [(f.node, f.blocks) for f in found.findings] == [("for s in S", False)]
        assert found.findings[0].reason == f"when M changes, {read} (size |S|); each of its rows is part of the result"
    assert not when(join(BY_KEY)).findings


BOTH = eq(s("x"), call("add_long", m("x"), path("t", "x")))
NOT_PAID = {
    "unequal": (join(call("ne", s("x"), m("x"))), "`s.x ≠ m.x` is no equality"),
    "unequal to a constant": (join(call("ne", s("kind"), A)), '`s.kind ≠ "A"` is no equality'),
    "not equal": (join(Call("not", (eq(s("x"), m("x")),))), "is no equality"),
    "not NULL": (join(Call("not", (Call("is_null", (s("x"),)),))), "is no equality"),
    "joined": (
        join(eq(path("t", "k"), s("k")), tables=(M, S, T)),
        "`t.k = s.k` joins what is read, and drops each row without a partner",
    ),
    "joined, by a constant": (
        join(eq(s("kind"), A), eq(path("t", "k"), s("k")), tables=(M, S, T)),
        "`t.k = s.k` joins what is read",
    ),
    "a constant and more": (join(eq(s("kind"), A), call("ne", s("k"), m("k"))), "`s.k ≠ m.k` is no equality"),
    "two constants on one column": (join(eq(s("kind"), A), eq(s("kind"), Lit("B", STRING))), "is a condition on rows"),
    "two tables": (join(tables=(M, S, T)), "no equality leads to T either, and where that is empty"),
    "both at once": (join(BOTH, tables=(M, T, S)), "needs values of several tables at once: `m.x + t.x`"),
}


def test_keys_of_two_tables() -> None:
    """A value of two tables is a key where one of them leads to the other."""
    assert when(join(eq(path("t", "k"), m("k")), BOTH, tables=(M, T, S))).findings == ()


@pytest.mark.parametrize("name", NOT_PAID)
def test_what_is_read_for_nothing(name: str) -> None:
    """What grows with S while the result does not: refused, with what would mend it."""
    h, reason = NOT_PAID[name]
    found = when(h)
    assert not found.incremental
    first = next(f for f in found.findings if f.node == "for s in S")
    assert first.blocks
    assert reason in first.reason
    assert "equate a column of S with a column of" in first.advice or "compare a column of S with" in first.advice


def test_rows_that_nobody_holds_do_not_pay() -> None:
    """A product whose rows are stored for labels that no row of the view need hold: a key-bound dictionary."""
    h = join()
    change = delta(h, frozenset(("M",)), telescoped=True)
    assert verdict(h, change, SIZES).incremental
    (finding,) = verdict(h, change, SIZES, held=False).findings
    assert finding.blocks
    assert finding.reason.endswith("what is made of them is kept even where no row of the view holds it")
    assert finding.advice == "equate a column of S with a column of M"


def test_what_a_key_finds_is_told_where_conditions_drop_some_of_it() -> None:
    """The fan-out of the change's keys is what a change costs: a note, where the rows of the table are known."""
    rows = {"M": 80, "S": 10_000}
    found = when(join(BY_KEY, LESS), rows=rows)
    assert found.incremental
    (note,) = found.findings
    assert (note.node, note.blocks) == ("for s in S", False)
    what = "when M changes, a key finds about 100 rows, of which only those with `s.x < m.x` are kept"
    assert note.reason == what
    assert not when(join(BY_KEY), rows=rows).findings
    assert not when(join(BY_KEY, LESS), rows={"M": 80, "S": 1}).findings
    assert not when(join(BY_KEY, LESS)).findings


def test_a_table_without_columns_is_one_row() -> None:
    """The domain of labels without parameters: reading it whole is reading whether there is such a label."""
    one = Rel("Dom", UNIT)
    h = For("d", one, For("m", M, Sng(path("m", "k"))))
    sizes = {**SIZES, **stored_sizes({"Dom": UNIT}, {})}
    assert not verdict(h, delta(h, frozenset(("M",)), telescoped=True), sizes).findings


def test_intervals_are_known_from_one_end() -> None:
    """In the order of their begins: which of them are over is not known before they are read."""
    found = when(join(LESS, call("ge", s("k"), m("x"))))
    assert not found.incremental
    assert "every row of S is read where `s.x < m.x` (size |S|)" in found.findings[0].reason
    assert "`s.k ≥ m.x` is no equality" in found.findings[0].reason
    assert when(join(LESS, call("ge", s("x"), m("k")))).incremental


def test_every_scan_is_found() -> None:
    """Both tables that no equality leads to, each with its conditions; and what changes is named, whichever it is."""
    h = join(LESS, call("lt", path("t", "x"), m("x")), call("gt", path("t", "n"), s("n")), tables=(M, S, T))
    found = when(h)
    assert [f.node for f in found.findings if f.blocks] == ["for s in S", "for t in T"]
    assert "`s.x < m.x` says where one end is" in found.findings[0].reason
    assert "read; `t.n > s.n` is no equality; no equality leads to T either" in found.findings[0].reason
    other = when(join(LESS), "S")
    assert other.findings[0].node == "for m in M"
    assert other.findings[0].reason.startswith("when S changes, every row of M is read where `s.x < m.x` (size |M|)")


def test_an_update_that_is_not_incremental() -> None:
    """|ΔM| ≥ |M|: theorem 4 does not apply, and says nothing good; smaller batches do."""
    rows = {"M": 80, "ΔM": 100, "S": 7}
    found = when(join(BY_KEY), rows=rows)
    (finding,) = found.findings
    assert (found.incremental, finding.node) == (False, "ΔM")
    assert finding.reason.startswith("the update is not incremental: it has the size 100{")
    assert "80{" in finding.reason
    assert finding.advice.startswith("change M in smaller batches")
    assert str(found).startswith("not incremental: C[[δ]] = 700{⟨1, 1⟩} ≰ 560{⟨1, 1⟩}\nΔM: the update")
    assert when(join(BY_KEY), rows={**rows, "ΔM": 79}).incremental
    assert when(join(BY_KEY), rows={"M": 1, "ΔM": 1, "S": 7}).incremental  # the only row, of which none is a part
    assert not when(join(BY_KEY), rows={"M": 2, "ΔM": 2, "S": 7}).incremental
    assert when(join(BY_KEY)).steps == ("2·|M|·|S|", "2·|ΔM|·|S|")


def test_a_change_that_costs_more_than_it_should() -> None:
    """With a size of R⁺ that the caller gives, C[[δ(h)]] can exceed C[[h]] though the update is incremental."""
    h, sizes = Product(M, S), {**SIZES, **stored_sizes({"M": ROW, "S": ROW}, {}, {"M": 3, "ΔM": 2, "S": 2, "ΔS": 1})}
    changed = delta(h, frozenset(("M", "S")), telescoped=True)
    assert verdict(h, changed, sizes).incremental
    given = verdict(h, changed, {**sizes, "M⁺": BagCost(7, sizes["M"].inner)})
    assert [(f.node, f.blocks) for f in given.findings if f.blocks] == [("δ", True)]


def test_what_lemma_1_would_take_away() -> None:
    """A ∅ that is left in δ(h) costs 1: then C[[δ(h)]] = C[[h]] says nothing against an incremental update."""
    once, change = Sng(UNIT_ELEM), Rel("M", ROW, At.DELTA)
    found = verdict(For("x", once, M), Plus(For("x", Empty(UNIT), M), For("x", once, change)), SIZES)
    assert found.incremental
    assert str(found) == "incremental: C[[δ]] = |M|{⟨1, 1, 1, 1, 1, 1⟩} ≤ |M|{⟨1, 1, 1, 1, 1, 1⟩}"


def test_missing_sizes() -> None:
    with pytest.raises(UnknownName, match="'S'"):
        verdict(join(), delta(join(), frozenset(("M",))), stored_sizes({"M": ROW}, {}))


# ---------------------------------------------------------------- inner bags


def cheaper(*conditions: Elem) -> DictLit:
    """The inner bag of: for m in M union sng(⟨m.k, for s in S where conditions union sng(s.x)⟩)."""
    body: Expr = Sng(s("x"))
    for cond in reversed(conditions):
        body = For("_", Pred(cond), body)
    head = Sng(Tuple((("k", m("k")), ("bag", Var("b")))))
    nested = For("m", M, For("b", SngBag("V.bag", For("s", S, body)), head))
    (d,) = dictionaries(shred(nested).context)
    assert isinstance(d, DictLit)
    return d


def domain_verdict(d: DictLit, changed: str) -> Verdict:
    """When ``changed`` does: Dom ⋈ e, or e keyed by what it equates."""
    kept = keep(defined(d), "Dom")
    assert d.site.params
    h = term(kept.products, ROW)
    row = domain_row(d.site)
    sizes = derived_sizes(SIZES, {"Dom": For("m", M, Sng(path("m", "k")))}, {})
    sizes |= stored_sizes({"Dom": row}, {})
    return verdict(h, delta(h, frozenset((changed,)), telescoped=True), sizes, None, Called({"Dom": "V.bag"}))


def test_an_inner_bag_that_no_equality_leads_to() -> None:
    """The scan of a domain is told as what it is: every inner bag, with the parameter that should be looked up."""
    found = domain_verdict(cheaper(LESS), "S")
    (finding,) = found.findings
    assert (found.incremental, finding.node) == (False, "inner bag V.bag")
    assert finding.reason.startswith("when S changes, every inner bag V.bag is visited where `s.x < m.x` (size |Dom|)")
    assert "`s.x < m.x` says where one end is, and all beyond it is read (parameter `m.x`)" in finding.reason
    assert "equate a value of the row around the inner bag V.bag with a column of S" in finding.advice
    (new,) = domain_verdict(cheaper(LESS), "Dom").findings
    begins = "when an inner bag V.bag appears or goes, every row of S is read where `s.x < m.x` (size |S|)"
    assert new.reason.startswith(begins)
    assert "equate a column of S with a value of the row around the inner bag V.bag" in new.advice
    for changed in ("S", "Dom"):
        assert domain_verdict(cheaper(LESS, BY_KEY), changed).incremental
    assert domain_verdict(cheaper(BY_KEY), "S").incremental


def test_definitions_by_their_labels() -> None:
    """[(ι,Π) ↦ e]: the parameters are known where e is evaluated, and columns equated with them are looked up."""
    changed = frozenset(("M", "T"))
    pair = eq(path("t", "k"), s("k"))

    def of(*conditions: Elem) -> Verdict:
        body: Expr = Sng(path("t", "x"))
        for cond in conditions:
            body = For("_", Pred(cond), body)
        body = For("t", T, body)
        nested = For("m", M, For("b", SngBag("V.bag", For("s", S, body)), Sng(Tuple((("b", Var("b")),)))))
        (d,) = dictionaries(shred(nested).context)
        change = simplify_dict(delta_dict(d, Scope(changed, telescoped=True)))
        return verdict(d, change, SIZES)

    assert str(of(BY_KEY).after) == "|S|·|ΔT|{1}"
    assert not of(BY_KEY).findings  # S is looked up by its label's parameter
    assert not of(pair, LESS).findings  # S is looked up from ΔT
    (finding,) = of(LESS).findings
    assert finding.node == "for s in S"
    assert finding.advice == "equate a column of S with a parameter of the label, beside this condition"


def test_rows_without_inner_bags_are_read_for_nothing() -> None:
    """A row whose bag is empty or NULL makes no row, whatever changes."""
    row = Record((("name", STRING), ("orders", Bag(LONG, True))))
    parts = stored_parts("C", row)
    flat = shred(For("m", M, For("c", Rel("C", row), For("o", Flatten(Sng(path("c", "orders"))), Sng(m("k")))))).flat
    assert "∈" in show(flat) or "C.orders" in show(flat)
    sizes = {**SIZES, **stored_sizes({"C": parts.pop("C")}, parts)}
    found = verdict(flat, delta(flat, frozenset(("M",)), telescoped=True), sizes)
    (finding,) = found.findings
    assert (finding.node, finding.blocks) == ("for c in C", True)
    assert "joins what is read, and drops each row without a partner" in finding.reason


def test_variables_are_named_as_in_the_query() -> None:
    """x and x2 of a self join keep apart; the numbers that compilation adds to a second summand go."""
    less = call("lt", path("x", "k"), path("x2", "k"))
    h = For("x", M, For("x2", M, For("_", Pred(less), Sng(path("x", "k")))))
    findings = when(h).findings
    assert [f.node for f in findings] == ["for x2 in M", "for x in M"]
    assert all("`x.k < x2.k` says where one end is" in f.reason for f in findings)


def test_an_inner_bag_that_changes_too_much() -> None:
    """ΔR^Γ is incremental when each label's change is smaller than what the label stands for."""
    d, change = DictRel("C.orders", LONG), DictRel("C.orders", LONG, At.DELTA)

    def of(rows: int) -> Verdict:
        counts = {"C": 10, "C.orders": 40, "ΔC.orders": rows}
        return verdict(d, change, stored_sizes({}, {"C.orders": LONG}, counts))

    assert of(30).incremental
    (finding,) = of(35).findings
    assert finding.node == "ΔC.orders"
    assert finding.reason.endswith("it has the size 4{1}, and what it changes has 4{1}")


def test_names_that_users_know() -> None:
    """Rows of inner bags by themselves, and what a table is that is kept under a name of its own."""
    customer = Record((("name", STRING), ("orders", Bag(Record((("qty", LONG),))))))
    parts = stored_parts("C", customer)
    c = Rel("C", customer)
    flat = shred(
        For("c", c, For("o", Flatten(Sng(path("c", "orders"))), For("s", S, For("_", Pred(
            call("lt", Proj(Var("o"), "qty"), s("x"))), Sng(s("k"))))))
    ).flat  # fmt: skip
    sizes = {**SIZES, **stored_sizes({"C": parts.pop("C")}, parts)}
    change = delta(flat, frozenset(("S",)), telescoped=True)
    (finding, *_) = verdict(flat, change, sizes).findings
    assert finding.node == "for o in C.orders"  # from which its row of C is looked up
    assert "qty < s.x`" in finding.reason
    assert ".row." not in finding.reason
    assert "equate a column of C.orders with a column of S" in finding.advice
    kept = verdict(join(LESS), delta(join(LESS), frozenset(("M",))), SIZES, None, Called(kept={"S": "T and U"}))
    assert kept.findings[0].node == "for s in T and U (kept as S)"


@law(examples=60)
def test_verdicts_of_random_views(c: Choices) -> None:
    """With symbols every update is incremental, so all that is found are scans, each of a generator that is there."""
    schema = random_schema(c)
    flat = shred(correlated_query(c, schema)).flat
    parts = {p: t for name, row in schema.relations for p, t in stored_parts(name, row).items()}
    bags = {name: parts.pop(name) for name in schema.names}
    part = c.pick([*bags, *parts])
    change = delta(flat, frozenset((part,)), telescoped=True)
    found = verdict(flat, change, stored_sizes(bags, parts))
    grown = [j for p in normal(change) for j in joins(p) if any(r.grows for r in j.reads())]
    assert bool(grown) == bool(found.findings)
    assert all(bool(f.advice) == f.blocks for f in found.findings)
    assert len({str(f) for f in found.findings}) == len(found.findings)


def test_the_verdict_of_related() -> None:
    """Section 2: every part of related is maintained by what changes, M and the labels alike."""
    shredded, sizes = shred(RELATED), stored_sizes({"M": MOVIE}, {})
    (d,) = dictionaries(shredded.context)
    assert isinstance(d, DictLit)
    sizes |= stored_sizes({"Dom": domain_row(d.site)}, {})
    kept = term(keep(defined(d), "Dom").products, MOVIE)
    for h, part in ((shredded.flat, "M"), (kept, "M"), (kept, "Dom")):
        found = verdict(h, delta(h, frozenset((part,)), telescoped=True), sizes)
        assert found.incremental
        assert not found.findings


def test_maps_of_more_rows_than_a_float_can_say() -> None:
    """As those of domains of domains, by what is assumed of each: estimates end where they end, and sizes are exact."""
    h = join(eq(path("s", "kind"), path("m", "kind")), call("lt", path("s", "x"), path("m", "x")))
    (finding,) = verdict(h, delta(h, frozenset(("M",))), {**SIZES, "S": BagCost(10**400, SIZES["S"].inner)}).findings
    assert not finding.blocks and "a key finds about 1e+150 rows" in finding.reason


def test_constants_that_are_a_key_find_one_row() -> None:
    """However large the table is: and so no more is read when it grows."""
    one = (eq(path("s", "k"), Lit(1, LONG)), call("lt", path("s", "x"), path("m", "x")))

    def of(*key: str, part: str = "S") -> list[str]:
        called = Called(unique={part: frozenset(key)})
        h = join(*one)
        return [f.node for f in verdict(h, delta(h, frozenset(("M",))), SIZES, None, called).findings]

    assert of() == of("k", part="T") == of("k", "x") == of("x") == ["for s in S"]
    assert of("k") == []


def test_what_is_compared_with_the_row_of_a_constant() -> None:
    """A value of it moves, and is no other row's: what lies between is read, as it is between two ends."""
    one = eq(path("m", "k"), Lit(1, LONG))

    def of(*conditions: Elem, key: str = "k") -> bool:
        h, called = join(*conditions), Called(unique={"M": frozenset((key,))})
        return verdict(h, delta(h, frozenset(("M",))), SIZES, None, called).incremental

    assert of(one, LESS)
    assert not of(LESS) and not of(one, LESS, key="x")
    assert of(one, LESS, eq(m("kind"), A))  # of that row alone
    assert not of(one, LESS, call("ne", s("n"), m("n")))  # another value of it drops rows
    assert not of(one, LESS, eq(s("kind"), A))  # m.x is shown: all rows are other ones then, and these drop some
    assert not of(one, call("lt", Call("add_long", (path("s", "x"), path("s", "k"))), path("m", "x")))
    unseen = For("m", M, For("_", Pred(one), For("s", S, For("_", Pred(LESS), Sng(s("x"))))))
    dropping = For("m", M, For("_", Pred(one), For("s", S, For("_", Pred(LESS), For(
        "_", Pred(call("ne", s("n"), m("n"))), Sng(s("x")))))))  # fmt: skip
    called = Called(unique={"M": frozenset("k")})
    found = [verdict(h, delta(h, frozenset(("M",))), SIZES, None, called) for h in (unseen, dropping)]
    assert [v.incremental for v in found] == [True, False]
    several = join(eq(path("t", "k"), m("k")), call("lt", s("x"), path("t", "x")), tables=(M, T, S))
    called = Called(unique={"T": frozenset("k")})
    assert not verdict(several, delta(several, frozenset(("M",))), SIZES, None, called).incremental
