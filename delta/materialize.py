"""Statements for all maps, and the auxiliary maps that higher-order deltas are kept in (nrc-ivm, section 4.1).

``δᵏ(h)`` says how what is kept of ``δᵏ⁻¹(h)`` changes. Here that reads: the statement of a map for a part is the map's
delta; its factors (``delta/factor.py``) may become maps; these have statements of their own, by the same rule, and so
on until nothing of the database is left. Each step takes a generator away, so it ends after deg(h) steps (theorem 2).

Higher-order deltas are factors. The paper materialises δ(h) partially evaluated and leaves open how. Here the
statement of a map for a part is a sum of products; with the update's columns fixed the rest of a product falls into
components of the join graph (``delta/factor.py``), and each can be a map of its own: its conditions, the columns
still needed, multiplicities summed. Such a map has statements by the same rule, one generator less each time, so the
recursion is the tower and ends with the degree (``delta/materialize.py``). Equal maps have equal names, digests of
their canonical definitions, so statements and views share them. A map is read as of the statement's turn, so what
each part did to it is kept apart within a batch. A component of a self join that would read R before and after its
own change is expanded by R⁺ = R ⊎ ΔR first. Conditions that can fail stay outside of maps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Literal, get_args

from attrs import evolve, field, frozen

from ripplenest.cost.estimate import Keys
from ripplenest.delta.anchored import anchored
from ripplenest.delta.factor import Computed, Factor, expanded, factors, mixed, substituted
from ripplenest.delta.groups.apart import apart, made_apart
from ripplenest.delta.groups.upward import with_ways
from ripplenest.delta.program import Map, Statement
from ripplenest.delta.rules import derived, rel_at_new
from ripplenest.delta.symmetric import alike_once
from ripplenest.nrc.errors import QueryError, TooBig
from ripplenest.nrc.limits import MAX_MAPS, MAX_PRODUCTS
from ripplenest.nrc.rewriting.normal import Comprehension, normal
from ripplenest.nrc.syntax import Call, Elem, Expr, Tuple
from ripplenest.nrc.walk import unique_binders

Materialize = Literal["none", "first", "full", "cost"]
MODES: tuple[Materialize, ...] = get_args(Materialize)


@frozen
class Use:
    """One product of a statement of ``map`` for ``part``: ``before`` joins stored parts, ``after`` reads the map
    instead."""

    map: str
    part: str
    before: Comprehension
    after: Comprehension


@frozen
class Deltas:
    """The deltas of maps, each derived once: what a candidate would cost is what its statements are made of when it is
    kept, and statements of a group may be made again. ``known`` is computed of rows anyway."""

    known: Computed = field(factory=Computed)
    _made: dict[tuple[int, str], tuple[Expr, tuple[Comprehension, ...]]] = field(factory=dict, init=False)

    def of(self, m: Map, part: str) -> tuple[Comprehension, ...]:
        """δ_part(m), reading the part before and after its own change; the normal form drops what is ∅ by itself."""
        key = id(m.term), part  # by identity, which the term beside it keeps: equality is recursive
        if key not in self._made:
            change = derived(m.term, frozenset((part,)), telescoped=True)
            self._made[key] = m.term, tuple(anchored(c, self.known) for c in normal(unique_binders(change)))
        return tuple(made_apart(m, c) for c in self._made[key][1])


@frozen(slots=False)
class Candidate:
    """A map that could be kept, and the products that would read it; ``depth`` is the order of their deltas."""

    map: Map
    uses: tuple[Use, ...]
    turns: tuple[str, ...]
    depth: int
    deltas: Deltas = field(factory=Deltas, eq=False, repr=False)

    @property
    def is_looked_up(self) -> bool:
        """Whether it holds what is computed of rows of a part, by which these are asked for."""
        return any(isinstance(t, Call) for m in self.map.products for t in _kept_values(m, self.map))

    @cached_property
    def upkeep(self) -> tuple[Comprehension, ...]:
        """How it would be maintained without more maps."""
        return tuple(c for part in self.turns if part in self.map.reads for c in self.deltas.of(self.map, part))


def _kept_values(c: Comprehension, m: Map) -> Iterator[Elem]:
    """The values of rows that are not added up."""
    assert isinstance(c.head, Tuple)
    added = {name for monomial in m.summed for name in monomial}
    return (t for name, t in c.head.fields if name not in added)


@frozen
class Choice:
    """Whether a candidate is kept, and why."""

    candidate: Candidate
    kept: bool
    why: str


Decide = Callable[[Candidate], tuple[bool, str]]


@frozen
class Materialized:
    """The view's ``own`` maps, those that are kept beside them, the statements of all of them, and what was decided
    about each."""

    own: tuple[Map, ...]
    maps: tuple[Map, ...]
    statements: tuple[Statement, ...]
    choices: tuple[Choice, ...]


def decision(mode: Materialize, by_cost: Decide) -> Decide | None:
    """The rule of ``mode``: keep no map (None), those of first-order deltas, all, or those that the cost says pay."""
    match mode:
        case "none":
            return None
        case "first":
            return lambda c: (c.depth == 1, "maps of first-order deltas were asked for")
        case "full":
            return lambda _: (True, "all maps were asked for")
        case "cost":
            return by_cost
    raise QueryError("there is no such way to materialise", got=mode, possible=MODES)


def materialize(maps: Sequence[Map], turns: Sequence[str], decide: Decide | None, keys: Keys) -> Materialized:
    """Statements for ``maps`` and for every map that is kept because ``decide`` says so; ``turns`` as in a program, and
    ``keys`` the unique columns of parts.

    Law: the maps' contents do not depend on what is kept. Raises TooBig for too many maps.
    """
    kept: dict[str, Map] = {}
    asked = Computed.of(maps, keys)
    made_of = Deltas(asked)
    statements: list[Statement] = []
    choices: dict[str, Choice] = {}
    tell: set[str] = set()  # groups whose statements read sums, and so have values of their own for each product
    frontier, depth = [m if decide is None else apart(m) for m in maps], 1
    while frontier:
        deltas = [(m, part, made_of.of(m, part)) for m in frontier for part in turns if part in m.reads]
        if decide is not None:
            found = _candidates(deltas, turns, depth, made_of, asked)
            choices |= {name: Choice(c, *decide(c)) for name, c in found.items() if name not in choices}
        wanted = frozenset(name for name, choice in choices.items() if choice.kept)
        if len(wanted) > MAX_MAPS:
            raise TooBig("too many maps to keep", wanted=f"at most {MAX_MAPS}", possible=("none", "first", "cost"))
        made = [_statement(m, part, products, wanted, turns, asked) for m, part, products in deltas]
        sums = {name for name in wanted if choices[name].candidate.map.summed}
        tell |= {s.map for s in made if sums & {*s.reads}}
        plain = [evolve(m, apart=()) if m.apart and m.name not in tell else None for m, _, _ in deltas]
        made = [
            s if m is None else _statement(m, s.part, made_of.of(m, s.part), wanted, turns, asked)
            for m, s in zip(plain, made, strict=True)
        ]
        statements += made
        read = {name for s in made for name in s.reads} - set(kept)
        frontier = [_kept(choices[name]) for name in sorted(read & wanted)]
        kept |= {m.name: m for m in frontier}
        depth += 1
    own = tuple(apart(m) if m.name in tell else m for m in maps)
    every = {m.name: m for m in (*own, *kept.values())}
    statements = [_in_all_ways(s, every[s.map], made_of, kept, turns, keys, asked) for s in statements]
    decided = sorted(choices.values(), key=lambda c: (c.candidate.depth, c.candidate.map.name))
    return Materialized(own, tuple(kept.values()), tuple(statements), tuple(decided))


def _kept(choice: Choice) -> Map:
    return evolve(choice.candidate.map, why=choice.why)


# ---------------------------------------------------------------- candidates

Delta = tuple[Map, str, tuple[Comprehension, ...]]


def _candidates(
    deltas: Sequence[Delta], turns: Sequence[str], depth: int, of: Deltas, asked: Computed
) -> dict[str, Candidate]:
    """Every factor of the deltas, with all of its uses."""
    uses: dict[str, list[Use]] = {}
    found: dict[str, Map] = {}
    for m, part, products in deltas:
        for c in products:
            for use, factor in _factors(c, part, m, asked):
                found[factor.map.name] = factor.map
                uses.setdefault(factor.map.name, []).append(use)
    return {name: Candidate(m, tuple(uses[name]), tuple(turns), depth, of) for name, m in found.items()}


def _factors(c: Comprehension, part: str, m: Map, asked: Computed) -> Iterator[tuple[Use, Factor]]:
    for found in _unmixed(c, part):
        for factor in factors(found, part, m, asked):
            yield Use(m.name, part, found, substituted(found, factor, m)), factor


def _unmixed(c: Comprehension, part: str) -> Iterator[Comprehension]:
    """``c`` as products in which no component reads two moments of ``part``."""
    var = mixed(c, part)
    if var is None:
        yield c
    else:
        for summand in expanded(c, var):
            yield from _unmixed(summand, part)


# ---------------------------------------------------------------- statements


def _statement(
    m: Map,
    part: str,
    products: tuple[Comprehension, ...],
    wanted: frozenset[str],
    turns: Sequence[str],
    asked: Computed,
) -> Statement:
    before = frozenset(turns[: turns.index(part)])
    rewritten = tuple(islice((c for p in products for c in _rewritten(p, part, m, wanted, asked)), MAX_PRODUCTS + 1))
    if len(rewritten) > MAX_PRODUCTS:
        raise TooBig("a statement has too many products", where=m.name, wanted=f"at most {MAX_PRODUCTS}")
    each = tuple(at_turn(c, before) for c in rewritten)
    found = alike_once(each, part)
    return Statement.of(m, part, found, each if found != each else ())


def _rewritten(
    c: Comprehension, part: str, m: Map, wanted: frozenset[str], asked: Computed
) -> Iterator[Comprehension]:
    """``c`` with the wanted maps in the place of their components; as it is when none of them fits."""
    if not wanted:
        yield c
        return
    summands = [_with_maps(s, part, m, wanted, asked) for s in _unmixed(c, part)]
    if any(reads_map for reads_map, _ in summands):
        yield from (s for _, s in summands)
    else:
        yield c


def _with_maps(
    c: Comprehension, part: str, m: Map, wanted: frozenset[str], asked: Computed
) -> tuple[bool, Comprehension]:
    found = c
    for factor in factors(c, part, m, asked):
        if factor.map.name in wanted and factor.variables <= found.variables().keys():
            found = substituted(found, factor, m)
    return found is not c, found


def _in_all_ways(
    s: Statement, m: Map, deltas: Deltas, kept: Mapping[str, Map], turns: Sequence[str], keys: Keys, asked: Computed
) -> Statement:
    """``s`` of ``m`` in all ways that there are when all maps are ``kept`` that are."""
    sums = [own for own in kept.values() if own.summed and s.part in own.reads]
    if not sums:
        return s
    before, wanted = frozenset(turns[: turns.index(s.part)]), frozenset(kept)
    rewritten = lambda c: at_turn(_with_maps(c, s.part, m, wanted, asked)[1], before)  # noqa: E731
    return with_ways(s, m, deltas.of(m, s.part), sums, keys, rewritten)


def at_turn(c: Comprehension, before: frozenset[str]) -> Comprehension:
    """Parts whose turn has passed are read after the batch: R ⟶ R⁺. Maps are as of the turn by themselves."""
    return evolve(c, generators=tuple((var, rel_at_new(rel, before)) for var, rel in c.generators))
