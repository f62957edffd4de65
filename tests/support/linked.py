"""Views of rows that are linked by keys, as people write them: what some rows below or above come to, up to a value of
a row around, or of each other, at some depth. A row has a few rows below it, however many there are of both. Rows of
two bags of one row are matched by a number that rows of many others have, and so are they with prices, which are a
customer's own."""

from collections.abc import Sequence
from typing import Any

from support.choices import Choices

RELATIONS = """
relation C : Bag(⟨id: long, g: long, w: long⟩) key id
relation O : Bag(⟨id: long, c: long, at: long, n: long?, xs: Bag(⟨no: long, n: long⟩),
  ys: Bag(⟨no: long, n: long⟩)⟩) key id
relation R : Bag(⟨id: long, o: long, at: long, n: long?⟩) key id
relation G : Bag(⟨id: long, n: long⟩) key id
relation P : Bag(⟨id: long, c: long, no: long, n: long⟩) key id
"""
TIMES = {"C": ["w"], "O": ["at"], "R": ["at"], "G": [], "P": [], "X": []}
NUMBERS = {"C": ["w"], "O": ["n"], "R": ["n"], "G": ["n"], "P": ["n"], "X": ["n"]}
KEYS = {"C": ["id", "g"], "O": ["id", "c"], "R": ["id", "o"], "G": ["id"], "P": ["c", "no"], "X": ["no"]}
UP = [("O", "c", "C", "id"), ("R", "o", "O", "id"), ("C", "g", "G", "id")]
LINKS = [*UP, ("C", "id", "O", "c"), ("O", "id", "R", "o")]
Vars = list[tuple[str, str]]  # variables, and the relations of which they are rows


def linked_rows(size: int) -> dict[str, list[dict[str, Any]]]:
    """``size`` rows of C, of which each has two of O, of which each has one of R; times are spread."""
    few = [[{"no": k, "n": (i + k) % 4} for k in range(1 + i % 2)] for i in range(2)]
    bags = [{"xs": few[i], "ys": few[i]} for i in range(2)]
    o = [{"id": i, "c": i % size, "at": i * 379 % 997, "n": i % 5 or None, **bags[i % 2]} for i in range(2 * size)]
    return {
        "C": [{"id": i, "g": i % 3, "w": i * 619 % 997} for i in range(size)],
        "O": o,
        "R": [{"id": i, "o": i * 5 % (2 * size), "at": i * 577 % 997, "n": i % 4} for i in range(2 * size)],
        "G": [{"id": i, "n": i} for i in range(3)],
        "P": [{"id": i, "c": i // 2, "no": i % 2, "n": i % 7} for i in range(2 * size)],
    }


def linked_view(c: Choices) -> str:
    """A view of RELATIONS, nested at most twice, in text."""
    return _Linked(c).level([], c.number(3))


class _Linked:
    def __init__(self, c: Choices) -> None:
        self.c, self.made = c, 0

    def new(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def level(self, around: Vars, depth: int) -> str:
        """for x in … where (x is linked with what is around) … union sng(⟨…⟩)."""
        own, text = self.source(around)
        while self.c.one_in(3):
            more, joined = self.source([*around, *own])
            own, text = [*own, *more], f"{text} {joined}"
        known = [*around, *own]
        fields = [f"k: {self.c.pick(columns(own, KEYS))}", f"o: {self.c.pick(columns(known, KEYS, TIMES, NUMBERS))}"]
        for i in range(self.c.number(3)):
            var, fold = self.fold(known, 2)
            fields.append(f"f{i}: {var}.v")
            text += f" {fold}{self.asked(var, columns(known, TIMES)) if self.c.one_in(5) else ''}"
        if depth:
            name = self.new("b")
            text += f" for {name} in sng[{self.new('s')}]({self.level(known, depth - 1)}) union"
            fields.append(f"{name}: {name}")
        return f"{text} sng(⟨{', '.join(fields)}⟩)"

    def source(self, around: Vars) -> tuple[Vars, str]:
        """Rows of a relation, or of a bag that is around."""
        bags = [var for var, rel in around if rel == "O"]
        if bags and self.c.one_in(4):
            var = self.new("x")
            return [(var, "X")], f"for {var} in flatten(sng({self.c.pick(bags)}.xs)) union"
        if not around:
            rel = self.c.pick(("C", "O", "R"))
            var = self.new(rel.lower())
            conditions = []
        else:
            var, rel, conditions = self.linked(around)
        where = [*conditions, *([f"{self.c.pick(columns([(var, rel)], NUMBERS))} > 0"] if self.c.one_in(4) else [])]
        return [(var, rel)], f"for {var} in {rel}{' where ' if where else ''}{' and '.join(where)} union"

    def linked(self, around: Vars) -> tuple[str, str, list[str]]:
        """A variable of rows that are linked with one around, or are the same ones."""
        found = [(x, mine, rel, its) for x, own in around for of, mine, rel, its in LINKS if of == own]
        found += [(x, "id", own, "id") for x, own in around if own == "G" or (own in "OR" and self.c.one_in(6))]
        x, mine, rel, its = self.c.pick(found)
        var = self.new(rel.lower())
        return var, rel, [" = ".join([f"{var}.{its}", f"{x}.{mine}"][:: self.c.pick((1, -1))])]

    def fold(self, around: Vars, depth: int) -> tuple[str, str]:
        """What rows that are linked with what is around come to, up to a time there; its variable, and where it is."""
        own, rows, conditions = self.first(around)
        while self.c.one_in(3):
            var, rel, more = self.linked(own if self.c.number(3) and own[-1][1] not in "XP" else around)
            own, rows, conditions = [*own, (var, rel)], [*rows, f"for {var} in {rel}"], [*conditions, *more]
        times, edges = columns(own, TIMES), columns([*around, *own], TIMES)
        for _ in range(self.c.number(3) if times and edges else 0):
            conditions.append(f"{self.c.pick(times)} {self.c.pick(('<', '<=', '>', '>='))} {self.c.pick(edges)}")
        below = ""
        if depth and self.c.one_in(5):
            inner, below = self.fold([*around, *own], depth - 1)
            below += self.asked(inner, times)
        where = f"{' union '.join(rows)}{' where ' if conditions else ''}{' and '.join(conditions)} union"
        of = f"{where} {below} sng(⟨v: {self.c.pick(columns(own, TIMES, NUMBERS))}⟩)"
        fn = self.c.pick(("count()", "sum(x.v)", "max(x.v)", "min(x.v)", "avg(x.v)"))
        answer = self.new("t")
        return answer, f"for {answer} in fold[{self.new('s')}](x in ({of}) of v: {fn}) union"

    def first(self, around: Vars) -> tuple[Vars, list[str], list[str]]:
        """Rows that are linked with what is around; or those of a bag there, perhaps with those of the other bag, or
        the prices, that match: their variables, where they are from, and what they have to be."""
        bags = [var for var, rel in around if rel == "O"]
        if not bags or self.c.number(3):
            var, rel, conditions = self.linked(around)
            return [(var, rel)], [f"for {var} in {rel}"], conditions
        o, x, other = self.c.pick(bags), self.new("x"), self.new("m")
        own, rows = [(x, "X")], [f"for {x} in flatten(sng({o}.xs))"]
        match self.c.pick(("", "bag", "prices")):
            case "bag":
                found = [*own, (other, "X")], [*rows, f"for {other} in flatten(sng({o}.ys))"], [f"{other}.no = {x}.no"]
            case "prices":
                matched = [f"{other}.no = {x}.no", f"{other}.c = {o}.c"]
                found = [*own, (other, "P")], [*rows, f"for {other} in P"], matched
            case _:
                found = own, rows, []
        return found

    def asked(self, answer: str, times: Sequence[str]) -> str:
        """What an answer is compared with."""
        return f" for _ in p({answer}.v {self.c.pick('<>')} {self.c.pick([*times, '1'])}) union"


def columns(of: Vars, *kinds: dict[str, list[str]]) -> list[str]:
    """The columns of these kinds that these rows have."""
    return [f"{var}.{name}" for var, rel in of for kind in kinds for name in kind[rel]]
