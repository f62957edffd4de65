"""``.nrc`` files: the same views as in Python, the same terms, the same rows; errors with line, column and caret."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.errors import ParseError, QueryError, TooBig, TypeMismatch, UnknownName, Unsupported, WrongValue
from ripplenest.nrc.syntax import SngBag
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.types import Base, Record
from ripplenest.nrc.walk import nodes

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "films.nrc"


@rn.record
class Movie:
    name: str
    gen: str | None
    dir: str | None


@rn.record
class Role:
    film: str
    actor: str
    year: rn.Int | None


@rn.view
def related(M: Bag[Movie]):
    return [
        {
            "name": m.name,
            "related": [m2.name for m2 in M if m2.name != m.name and (m2.gen == m.gen or m2.dir == m.dir)],
        }
        for m in M
    ]


@rn.view
def casts(M: Bag[Movie], C: Bag[Role]):
    return [
        {
            "name": m.name,
            "roles": [
                {"actor": c.actor, "others": [d.actor for d in C if d.film == c.film if d.actor != c.actor]}
                for c in C
                if c.film == m.name
                if c.year is None or c.year >= 1980
            ],
        }
        for m in M
    ]


FILMS = [
    {"name": "Drive", "gen": "Drama", "dir": "Refn"},
    {"name": "Rush", "gen": "Action", "dir": "Howard"},
    {"name": "Only God Forgives", "gen": None, "dir": "Refn"},
]
ROLES = [{"film": "Drive", "actor": "Gosling", "year": 2011}, {"film": "Drive", "actor": "Mulligan", "year": None}]


@pytest.mark.parametrize("view", [related, casts], ids=lambda v: v.name)
def test_a_view_is_the_same_term_in_python_and_in_text(view: rn.View) -> None:
    """So it has the same fingerprint, and one can take over the state of the other."""
    found = rn.read(EXAMPLE).view(view.name)
    assert found.query == view.query
    assert found.row == view.row
    assert rn.explain(found).json()["fingerprint"] == rn.explain(view).json()["fingerprint"]


@rn.record
class Sale:
    at: datetime
    due: datetime | None


@rn.view
def moments(S: Bag[Sale]):
    return [
        {"day": s.at.date(), "year": s.due.year, "hour": s.at.hour, "rest": s.at.minute + s.due.second,
         "late": (s.at.date() - s.due.date()).days}
        for s in S
        if s.at.month == 12
    ]


def test_parts_of_a_timestamp_are_the_same_in_python_and_in_text() -> None:
    found = rn.parse(
        """
        relation S : Bag(⟨at: timestamp, due: timestamp?⟩)
        view moments = [
          {day: date_of(s.at), year: year(s.due), hour: hour(s.at), rest: minute(s.at) + second(s.due),
           late: days_between(s.at, s.due)}
          | s in S, month(s.at) = 12
        ]
        """
    ).view("moments")
    assert found.query.body == moments.query.body and found.row == moments.row
    old = datetime(1969, 12, 31, 23, 59, 58, 999_999, UTC)
    rows = [
        {"at": old, "due": None},
        {"at": old, "due": old.replace(year=2)},
        {"at": old.replace(month=10), "due": old},
    ]
    first = {"day": date(1969, 12, 31), "year": None, "hour": 23, "rest": None, "late": None}
    late = (date(1969, 12, 31) - date(2, 12, 31)).days
    assert moments(rows) == [first, {**first, "year": 2, "rest": 59 + 58, "late": late}]


def test_a_database_keeps_the_views_of_a_file(tmp_path: Path) -> None:
    program = rn.read(EXAMPLE)
    with rn.open(tmp_path, engine="local") as db:
        for r in program.relations:
            db.relation(r)
            assert db.relation(r.name, r.annotation, key=r.key or None).name == r.name  # which is what that says
        for view in program.views:
            db.create(view)
        db.load("C", ROLES)
        with db.batch() as b:
            b.insert("M", FILMS)
        assert db.view("related").rows() == related(FILMS)
        assert db.view("related_in_the_calculus").rows() == related(FILMS)
        assert db.view("casts").rows() == casts(M=FILMS, C=ROLES)
        assert sorted(db.view("mixed").rows()) == ["Drive", "Rush"]
        for more in ({"record": Movie}, {"key": "name"}):
            with pytest.raises(WrongValue, match="a relation of a file has rows and a key"):
                db.relation(program.relation("M"), **more)
    assert [(r.name, r.key) for r in program.relations] == [("M", ("name",)), ("C", ())]


def test_every_type_can_be_declared() -> None:
    kinds = ("bool", "int", "long", "double", "string", "date", "timestamp", "binary")
    fields = ", ".join(f"{k}: {k}, n_{k}: {k}?" for k in kinds)
    text = f"""
    record Inner = {{d: decimal(10,2), e: decimal(38, 38)?}}
    relation R : Bag(<{fields}, inner: Inner, bag: Bag(Inner), null: Bag(Bag(long?))?>) key `bool`, date
    relation S : Bag(string?)
    """
    program = rn.parse(text)
    row = program.relation("R").row
    assert isinstance(row, Record)
    assert row.get("n_date") == Base("date", True)
    inner = row.get("inner")
    assert inner == Record((("d", Base("decimal", False, 10, 2)), ("e", Base("decimal", True, 38, 38))))
    assert (row.get("bag"), row.get("null")) == (BagType(inner), BagType(BagType(Base("long", True)), True))
    assert program.relation("R").key == ("bool", "date")
    assert program.relation("S").row == Base("string", True)


def test_a_relation_of_any_rows_can_be_declared_in_a_database(tmp_path: Path) -> None:
    program = rn.parse("""
    relation R : Bag(⟨k: int, d: decimal(5,2)?, inner: ⟨a: long⟩, bags: Bag(⟨b: string?⟩)?⟩) key k
    relation S : Bag(string?)
    view v = [{k: r.k, bs: [b.b | b in r.bags]} | r in R, r.d is null] view w = S
    """)
    with rn.open(tmp_path, engine="local") as db:
        for r in program.relations:
            db.relation(r.name, r.annotation, key=r.key or None)
        db.load("R", [{"k": 1, "d": None, "inner": {"a": 1}, "bags": [{"b": None}]}])
        db.load("S", ["a", None])
        db.create(program.view("v"))
        db.create(program.view("w"))
        assert db.view("v").rows() == [{"k": 1, "bs": [None]}]
        assert db.view("w").rows() == [None, "a"]


@pytest.mark.parametrize("name", ["`a b`", "class", "_a", "`): pass`", "`é`.x"])
def test_relations_whose_fields_are_no_words_have_no_class(name: str) -> None:
    with pytest.raises(rn.RipplenestError):
        _ = rn.parse(f"relation R : Bag(<{name}: int>)").relation("R").annotation


def test_views_read_the_views_above_and_the_relations_they_use() -> None:
    program = rn.parse("""
    relation R : Bag(<a: long>)  relation S : Bag(<a: long>)  relation T : Bag(long)
    view nested = [{bs: [s.a | s in S, s.a = r.a]} | r in R]
    view all = for x in nested union x.bs
    view twice = all ⊎ all
    view keys = [record.key | record in [{key: 1, view: 2, date: 3}]]
    """)
    assert [r for r, _ in program.view("nested").query.relations] == ["R", "S"]
    assert [r for r, _ in program.view("twice").query.relations] == ["R", "S"]
    assert program.view("keys").query.relations == ()
    sites = [n.site for n in nodes(program.view("twice").query.body) if isinstance(n, SngBag)]
    assert sites == ["nested.bs", "nested.bs1"]
    with pytest.raises(UnknownName):
        program.relation("X")
    with pytest.raises(rn.errors.UnknownView):
        program.view("X")


def test_a_made_up_variable_captures_no_variable_of_the_text() -> None:
    text = "relation R : Bag(<a: long>) view v = for b in R union [{outer: b.a, inner: [x.a | x in R, x.a = b.a]}]"
    (view,) = rn.parse(text).views
    assert rn.explain(view).json()["type"] == "Bag(⟨outer: long, inner: Bag(long)⟩)"


# ---------------------------------------------------------------- errors


def test_an_error_shows_the_line_what_was_wanted_and_what_came() -> None:
    text = "relation M : Bag(⟨a: int⟩)\nview v =\n  for m in M where m.a 3 union sng(m)\n"
    with pytest.raises(ParseError) as caught:
        rn.parse(text, "films.nrc")
    assert str(caught.value) == (
        "films.nrc:3:24: this cannot stand here\n"
        "    for m in M where m.a 3 union sng(m)\n"
        "                         ^\n"
        "  wanted   an operator, union or where\n"
        "  got      3"
    )


def test_a_type_error_points_into_the_view() -> None:
    text = "relation M : Bag(⟨a: int⟩)\nview v =\n\tfor m in M union sng(⟨a: m.a,\n\t\tb: m.b⟩)"
    with pytest.raises(UnknownName) as caught:
        rn.parse(text, "films.nrc")
    assert str(caught.value) == (
        "films.nrc:4:6: there is no field 'b'\n    b: m.b⟩)\n       ^^^\n  got      b\n  possible a"
    )


HEAD = "relation M : Bag(⟨a: int, n: int?⟩) key a\n"


@pytest.mark.parametrize(
    ("text", "error", "where", "shown"),
    [
        ("view", ParseError, "2:5", "wanted   a name"),
        ("view v", ParseError, "2:7", "wanted   ="),
        ("view v = [m.a | m in M", ParseError, "2:23", "]"),
        ("view v = (M", ParseError, "2:12", ")"),
        ("view v = for M", ParseError, "2:15", "wanted   in"),
        ("view v = for m in M", ParseError, "2:20", "union"),
        ("view v = for in M", ParseError, "2:17", "wanted   in"),
        ("view v = ", ParseError, "2:10", "wanted   an expression"),
        ("relation R : int", TypeMismatch, "2:14", "Bag"),
        ("relation R = Bag(int)", ParseError, "2:12", "wanted   :"),
        ("relation R : Bag(strin)", UnknownName, "2:18", "string"),
        ("relation R : Bag(⟨a: int⟩) key b", TypeMismatch, "2:32", "possible a"),
        ("relation R : Bag(⟨a: int?⟩) key a", TypeMismatch, "2:33", "never NULL"),
        ("relation R : Bag(⟨`∃`: bool, a: int⟩)", ParseError, "2:14", "a name that is ours"),
        ("relation R : Bag(⟨a: int, b: ⟨c: int, `∃`: bool⟩⟩)", ParseError, "2:14", "a name that is ours"),
        ("relation M : Bag(int)", ParseError, "2:10", "declared above"),
        ("view M = M", ParseError, "2:6", "declared above"),
        ('view v = "abc', ParseError, "2:10", "without an end"),
        ("view v = `abc", ParseError, "2:10", "without an end"),
        ("view v = M $ M", ParseError, "2:12", "$"),
        ("view v = ΔM", Unsupported, "2:10", "possible M"),
        ("view v = M⁺", Unsupported, "2:10", "possible M"),
        ("view v = N", UnknownName, "2:10", "possible M"),
        ("view v = v", UnknownName, "2:10", "possible M"),
        ("view v = [m.a | m in M, m.a]", TypeMismatch, "2:25", "bool"),
        ("view v = [m.a | m in M, upper(m.a) = 1]", TypeMismatch, "2:25", "(string)"),
        ("view v = [upp(m.a) | m in M]", UnknownName, "2:11", "upper"),
        ("view v = [m | m.a in M]", ParseError, "2:15", "one name"),
        ("view v = [m | m in M, m.a in (1)]", ParseError, "2:23", "m.a = …"),
        ('view v = sng(1) ⊎ sng("a")', TypeMismatch, "2:10", "Bag(string)"),
        ("view v = let X := 1 in X", TypeMismatch, "2:19", "bag"),
        ("view v = sng(null)", TypeMismatch, "2:14", "string? null"),
        ("view v = sng(1) ⊎ sng(int 1)", TypeMismatch, "2:10", "to_long"),
        ("view v = []", TypeMismatch, "2:10", "∅"),
    ],
)
def test_errors(text: str, error: type[QueryError], where: str, shown: str) -> None:
    with pytest.raises(QueryError) as caught:
        rn.parse(HEAD + text, "x.nrc")
    assert (type(caught.value), caught.value.where) == (error, f"x.nrc:{where}"), caught.value
    assert shown in str(caught.value)
    assert "_" not in (caught.value.wanted or "") if error is ParseError else True  # no names of terminals
    line = (HEAD + text).splitlines()[1]
    shown_line, caret = str(caught.value).splitlines()[1:3]
    assert shown_line.strip() == line.strip()
    assert set(caret.strip()) == {"^"}


@pytest.mark.parametrize(
    ("view", "word"),
    [
        ("[1 | m inM]", "inM"), ("[1 | m in M, m.n isnull]", "isnull"), ("[1 | m in M, m.n isnotnull]", "isnotnull"),
        ("[1 | m in M, m.n is notnull]", "notnull"), ("[1 | m in M, m.n is not nulls]", "nulls"),
        ("[1 | m in M, true is trues]", "trues"), ("[1 | m in M, m.a = 1 andm.a = 2]", "andm.a"),
        ("[1 | m in M, m.a = 1 orm.a = 2]", "orm.a"), ("[m.a modm.a | m in M]", "modm.a"),
        ("for m inn M union M", "inn"), ("for m in M unionM", "unionM"),
        ("for m in M wherem.a = 1 union M", "wherem.a"), ("let X := M inX", "inX"), ("∅[<a int>]", "int"),
        ("∅[Bagx(int)]", "("), ("M viewv = M", "viewv"), ("M recordR = int", "recordR"),
        ("M relationR : Bag(int)", "relationR"), ("M relation R : Bag(<a: int>) keya", "keya"),
    ],
)  # fmt: skip
def test_a_keyword_ends_where_its_word_ends(view: str, word: str) -> None:
    with pytest.raises(ParseError) as caught:
        rn.parse(f"{HEAD}view v = {view}", "x.nrc")
    column = f"view v = {view}".index(word) + 1
    assert (caught.value.where, caught.value.got) == (f"x.nrc:2:{column}", word)
    assert str(caught.value).splitlines()[2].strip() == "^" * len(word)


NAMES = (
    *("inner", "island", "order", "notes", "forward", "union_id", "letter", "keys", "p1", "sng2", "android"),
    *("nullable", "trueish", "falsely", "model", "wherever", "viewer", "records", "relations", "Bagged", "emptyish"),
    *("iota1", "Labels", "flattened", "internal", "dates", "iso", "in_", "né"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_may_begin_like_a_keyword(name: str) -> None:
    program = rn.parse(f"""
    record {name} = <{name}: int>  relation {name} : Bag({name}) key {name}
    view v = for {name} in {name} where {name}.{name} = 1 and not {name}.{name} is null union sng({name})
    view w = [{{{name}: {name}.{name} mod 2}} | {name} in {name}, {name}.{name} in (1, 2) or true]
    view x = let {name} := v in {name}
    """)
    assert program.relation(name).key == (name,)
    assert program.view("v").row == program.view("w").row == program.view("x").row == program.relation(name).row


COMPREHENSION, CONDITIONAL = "possible `[e | x in X, c]`", "possible `if(c, a, b)`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("view v = [m | m in M, m.s = 'Oslo']", 'possible double quotes around a string: "Oslo"'),
        ("view v = [m | m in M, m.a == 1]", "possible a single ="),
        ("view v = [m | m in M, m.a <> 1]", "possible !="),
        ("view v = [m | m in M, m.a = 1 || m.a = 2]", "cannot stand here\n"),
        ("view v = [m | m in M, m.a = 1 || m.a = 2]", "possible or"),
        ("view v = [m | m in M, m.a = 1 && m.a = 2]", "possible and"),
        ("view v = [m | m in M, m.a not in (1, 2)]", "possible not x in"),
        ("view v = [m for m in M if m.a = 1]", COMPREHENSION), ("view v = [m | m in M if m.a = 1]", COMPREHENSION),
        ("view v = [m | m in M where m.a = 1]", COMPREHENSION), ("view v = [m | for m in M]", COMPREHENSION),
        ("view v = [m | for m in M, m.a = 1]", COMPREHENSION),
        ("view v = [if m.a = 1 then 2 else 3 | m in M]", CONDITIONAL),
        ("view v = [if (m.a = 1) then 2 else 3 | m in M]", CONDITIONAL),
        ("view v = [{a: 2 if m.a = 1 else 3} | m in M]", CONDITIONAL),
        ("veiw v = M", "did you mean view?"), ("relatoin R : Bag(int)", "did you mean relation?"),
        ("view v = for m in M unoin M", "did you mean union?"), ("view v = M RECORD R = int", "did you mean record?"),
        ("view v = [m | m in MM]", "did you mean M?"), ("view v = [m | m in m]", "did you mean M?"),
        ("view v = [m.note | m in M]", "did you mean notes?\n"), ("view v = [m.note | m in M]", "possible notes, a, n"),
        ("view v = [uper(m.s) | m in M]", "did you mean upper?"),
        ("view v = [uper(m.s) | m in M]", "possible upper, p"),
        ("relation R : Bag(strin)", "did you mean string?"),
        *((f"view v = [{f}(m.a) | m in M]", "top[α](3, x in xs order x.price desc)") for f in ("sort", "top", "limit")),
        ("view v = [len(m.a) | m in M]", "count(xs), of a bag"), ("view v = [COUNT(m.a) | m in M]", "mean count?"),
        ("view v = [sum(m.a) | m in M]", "this must be a bag"), ("view v = [su(m.a | m in M)]", "did you mean sum?"),
        ("view v = [group(m.a) | m in M]", "possible group[α](x in xs by key: x.key of n: count())"),
        ("view v = [sum(m.s | m in M)]", "sum of a group does not take these types"),
        ("view v = [m | m in M", "the text ends here: `[` of 2:10 is not closed"),
        ("view v = [m | m in M\nview w = M", "`[` of 2:10 is not closed"),
        ("view v = (M +\nview w = M", "`(` of 2:10 is not closed"),
        ("view v = [{a: m.a | m in M]", "`{` of 2:11 is not closed"),
        ("view v = [{a: m.a) | m in M]", "`{` of 2:11 is not closed"),
        ("view v = sng(<a: 1", "`<` of 2:14 is not closed"), ("view v = [1 | m in M, m.a < (1", "`(` of 2:29"),
        ("relation R : Bag(⟨a: int", "`⟨` of 2:18 is not closed"),
        ("view v = [1 | m in M, (m.a < 1]", "`(` of 2:23 is not closed"),
        ("view v = [m.a, 1 | m in M]", "cannot stand here\n"),
        ("view v = [1 | m in M, m.a = m.s]", "`=` cannot compare int with string\n"),
        ("view v = [1 | m in M, m.a = m.s]", "possible to_string(…) = …"),
        ("view v = [1 | m in M, m.s >= date \"2020-01-01\"]", "possible to_date(…) >= …, … >= to_string(…)"),
        ("view v = [1 | m in M, m.s <=> true]", "`<=>` cannot compare string with bool"),
        ("view v = [m.s + m.a | m in M]", "`+` cannot take string and int"), ("view v = [-m.s | m in M]", "`-` cannot"),
        ("view v = [1 | m in M, m.a in (1, \"a\")]", "`in` cannot compare int with string"),
        ("view v = [1 | m in M, m.a is true]", "`is true` cannot take int"),
        ("view v = [1 | m in M, null or 1]", "`or` cannot take null and long"),
        ("view v = [1 | m in M, eq(m.a, m.s)]", "eq does not take these types"),
    ],
)  # fmt: skip
def test_what_habits_of_other_languages_are_told(text: str, shown: str) -> None:
    with pytest.raises(QueryError) as caught:
        rn.parse(f"relation M : Bag(⟨a: int, n: int?, s: string, notes: string⟩)\n{text}")
    assert shown in str(caught.value)


def test_a_file_that_is_no_text_and_one_that_is_too_big(tmp_path: Path) -> None:
    path = tmp_path / "x.nrc"
    path.write_bytes(b"-- caf\xe9\n")
    with pytest.raises(ParseError) as caught:
        rn.read(path)
    assert caught.value.where == f"{path}:1:7"
    path.write_bytes(b" " * 1_000_001)
    with pytest.raises(TooBig):
        rn.read(path)
    path.write_bytes(b"\xef\xbb\xbf-- a mark of the order of bytes\n")
    assert rn.read(path) == rn.parse("")


def test_what_does_not_print_is_escaped() -> None:
    with pytest.raises(ParseError) as caught:
        rn.parse("view v = \x1b[2J\u202e", "x.nrc")
    assert all(line.isprintable() for line in str(caught.value).splitlines())
