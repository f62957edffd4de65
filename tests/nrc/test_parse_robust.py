"""R25 and R26: whatever the text is, the parser gives a tree or a QueryError that says where; it never dies."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from support.choices import seeded
from support.sizes import many
from support.strategies import random_case

from ripplenest import parse, read
from ripplenest.nrc.errors import ParseError, QueryError, TooBig, TooDeep
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.surface.text import Environment, environment_of, parse_expr, parse_type
from ripplenest.nrc.syntax import Product, Rel
from ripplenest.nrc.types import LONG, Record
from ripplenest.shred.terms import shred

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "films.nrc"
PIECES = (
    *'⟨⟩()[]{}<>`"\\#,:;|@?⁺Δ⊎⊖×·∪∅↦\x00\ud800\U0010ffff\r²Rx_',
    *("--", "ι[", ":=", "0x", "1e999", "99999999999999999999", "null", "true", "not ", "int ", "decimal(", "date "),
    *(" in ", " is ", " where ", " union ", "let X := ", "for x in ", "sng", "flatten(", "p(", "view v = "),
    *("relation ", "record ", "key ", ".a", "Bag(", "- "),
)


def settled(text: str) -> bool:
    """True for a program, False for an error of ours with a place; anything else fails the test."""
    try:
        parse(text, "x.nrc")
    except QueryError as error:
        placed = error.where.startswith("x.nrc:") and all(n.isdigit() for n in error.where.split(":")[1:])
        assert placed or isinstance(error, TooBig | TooDeep), (text, str(error))
        assert str(error)
        return False
    return True


def mutated(random: Random, text: str) -> str:
    """One to three changes: a piece put in, taken out, doubled, moved, or exchanged for another."""
    for _ in range(random.randint(1, 3)):
        i = random.randrange(len(text) + 1)
        j = min(len(text), i + random.choice((1, 1, 2, 5, 30)))
        match random.randrange(5):
            case 0:
                text = text[:i] + random.choice(PIECES) + text[i:]
            case 1:
                text = text[:i] + text[j:]
            case 2:
                text = text[:j] + text[i:]
            case 3:
                k = random.randrange(len(text) + 1)
                text = text[:k] + text[i:j] + text[k:]
            case _:
                text = text[:i] + random.choice(PIECES) + text[j:]
    return text


def programs(random: Random) -> Iterator[str]:
    """The example, and random views over random relations."""
    example = EXAMPLE.read_text(encoding="utf-8")
    while True:
        case = random_case(seeded(random.randrange(2**32)))
        relations = "\n".join(f"relation {name} : Bag({row})" for name, row in case.schema.relations)
        yield example
        yield f"{relations}\nview v = {show(case.query)}"


def mutate(seed: int, n: int) -> None:
    random = Random(seed)
    results = [settled(mutated(random, text)) for _, text in zip(range(n), programs(random), strict=False)]
    assert 0.02 < sum(results) / n < 0.6, f"{sum(results)} of {n} mutations are programs"


def test_mutations_of_programs() -> None:
    mutate(25, many(400, 1500))


@pytest.mark.long
def test_many_mutations_of_programs() -> None:
    mutate(2025, 20_000)


def test_mutations_of_shredded_terms() -> None:
    random = Random(7)
    for seed in range(60):
        term = shred(random_case(seeded(seed)).query).flat
        env, text = environment_of(term), show(term)
        for _ in range(8):
            try:
                parse_expr(mutated(random, text), env)
            except QueryError as error:
                assert error.where


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes(seed: int, tmp_path: Path) -> None:
    """100 kB, as they are, as characters, and as pieces of the language."""
    random = Random(seed)
    path = tmp_path / "x.nrc"
    path.write_bytes(random.randbytes(100_000))
    with pytest.raises(ParseError) as caught:
        read(path)
    assert caught.value.where.startswith(f"{path}:1:") or caught.value.where.count(":") == 2
    settled(random.randbytes(100_000).decode("latin-1"))
    settled("".join(map(chr, random.choices(range(32, 127), k=100_000))))
    settled("view v = " + " ".join(random.choices(PIECES, k=30_000)))


# ---------------------------------------------------------------- R26

ENV = Environment({"R": Record((("a", LONG),))})
NESTED = {
    "⊖": ("⊖(", "R", ")"), "brackets": ("(", "R", ")"), "for": ("for x in R union ", "R", ""),
    "sng": ("sng(", "R", ")"),
    "where": ("where true union ", "R", ""), "let": ("let X := R in ", "X", ""), "records": ("sng(⟨a: ", "1", "⟩)"),
    "ascii records": ("sng(<a: ", "1", ">)"), "comprehensions": ("[⟨a: ", "1", "⟩ | x in R]"),
    "not": ("not ", "true", ""),
    "minus": ("- ", "1", ""), "fields": ("", "R", "⟨a⟩"), "paths": ("", "R", ".a"), "applied": ("", "R", "(1)"),
    "calls": ("abs(", "1", ")"), "open": ("(", "", ""), "closed": ("", "R", ")"), "strings": ('"', "", ""),
    "dictionaries": ("[(ι[s]) ↦ ", "R", "](1)"), "types": ("∅[Bag(", "int", ")]"),
    "generators": ("[1 | x in ", "R", "]"),
}  # fmt: skip
CHAINS = {"⊎": " ⊎ ", "×": " × ", "and": " and ", "+": " + ", "=": " = ", "comma": ", ", "where": " where ", "⁺": "⁺"}


def bounded(text: str) -> None:
    with suppress(QueryError):
        parse_expr(text, ENV)


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("depth", [50, 101, 2_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_nesting(name: str, depth: int) -> None:
    before, inner, behind = NESTED[name]
    bounded(before * depth + inner + behind * depth)


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_thousands(name: str) -> None:
    bounded(CHAINS[name].join(["R"] * 5000))
    bounded(f"p({CHAINS[name].join(['true'] * 5000)})")


@pytest.mark.parametrize(("depth", "error"), [(101, TooDeep), (10_000, TooDeep), (1_000_000, TooBig)])
def test_what_is_too_deep_says_so(depth: int, error: type[QueryError]) -> None:
    with pytest.raises(error):
        parse_expr("⊖(" * depth + "R" + ")" * depth, ENV)
    with pytest.raises(error):
        parse_expr(" ⊎ ".join(["R"] * (depth + 1)), ENV)
    with pytest.raises(error):
        parse_type("Bag(" * depth + "int" + ")" * depth)


def test_what_is_just_not_too_deep_is_read() -> None:
    text = "⊖(" * 99 + "R" + ")" * 99
    assert show(parse_expr(text, ENV)) == text
    assert parse_expr("[" + ", ".join(["1"] * 5000) + "]", ENV)  # a balanced sum


def test_rows_that_double_are_too_big() -> None:
    lets = "".join(f"let X{i + 1} := X{i} × X{i} in " for i in range(40))
    with pytest.raises(TooBig):
        parse_expr(f"let X0 := R in {lets}X40", ENV)
    assert isinstance(parse_expr("R × R", ENV), Product)
    assert isinstance(parse_expr("R", ENV), Rel)
