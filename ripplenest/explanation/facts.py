"""What there is to say about a compiled view: the facts of which every form of an explanation is made."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

from attrs import field, frozen

from ripplenest.cost.verdict import Finding, Verdict
from ripplenest.delta.compile import Stages
from ripplenest.delta.degree import deg, deg_dict
from ripplenest.delta.judge import Judgement
from ripplenest.delta.materialize import Choice
from ripplenest.delta.program import Map, MapKind, Statement
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.delta.tower import older
from ripplenest.delta.unreached import reached
from ripplenest.explanation.context import InnerBag, dictionary_name, inner_bags
from ripplenest.explanation.reads import Access, accesses, column_names, orders, range_name
from ripplenest.explanation.terms import is_sum, unnamed, unnamed_dict
from ripplenest.nrc.errors import TooBig, TooDeep
from ripplenest.nrc.printing.pretty import open_definition, show_site
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.rewriting.normal import Comprehension, normal, term
from ripplenest.nrc.rewriting.simplify import simplify_dict
from ripplenest.nrc.syntax import Apply, At, DictLit, DictRel, Empty, Expr, Query, Rel, Var
from ripplenest.nrc.typecheck import dict_type
from ripplenest.nrc.types import Label, Type
from ripplenest.nrc.walk import nodes
from ripplenest.plan.planned import Plan, plan
from ripplenest.plan.running import Running
from ripplenest.shred.contexts import stored_rows
from ripplenest.state.pieces import Piece


@frozen
class Flat:
    """One of the queries that a view is shredded into: its flat part, or the definition of a dictionary.

    ``normal`` is its sum of comprehensions, None when the term is one already; ``degree`` counts all stored parts.
    """

    name: str
    term: Expr | DictLit
    normal: Expr | DictLit | None
    degree: int


@frozen
class Change:
    """``left`` = ``term``: how the flat query or one definition changes when ``part`` does; not telescoped.

    ``before`` and ``after`` are the degrees of the query and of its delta; ``reads``: what of the database is left.
    """

    part: str
    left: str
    term: Expr
    before: int
    after: int
    reads: tuple[str, ...]


@frozen
class KeptSite:
    """Where labels are made, and how the dictionary of these labels is kept."""

    definition: DictLit
    domain: bool
    why: str

    @property
    def rule(self) -> Literal["key-bound", "domain"]:
        """The name of the rule by which it is kept."""
        return "domain" if self.domain else "key-bound"


@frozen(slots=False)
class Facts:
    """The stages of one view, and what follows from them.

    ``sizes`` and ``changes``: rows of parts, and of their changes in a batch, as far as they are known. ``largest``:
    the rows of the largest inner bag of a part. ``pieces``: where the work for a view of a database is done, whose maps
    were chosen for so many rows of parts, ``chosen``.
    """

    query: Query
    stages: Stages
    judgement: Judgement
    sizes: Mapping[str, int] = field(factory=dict)
    changes: Mapping[str, int] = field(factory=dict)
    largest: Mapping[str, int] = field(factory=dict)
    pieces: tuple[Piece, ...] = ()
    chosen: Mapping[str, int] = field(factory=dict)

    @property
    def averaged(self) -> tuple[str, ...]:
        """The parts whose inner bags are taken to have the average size: their rows are known, the largest is not."""
        inner = (name for name in self.stages.program.parts if name not in dict(self.query.relations))
        return tuple(name for name in inner if name in self.sizes and name not in self.largest)

    @property
    def view(self) -> str:
        """The view's name as it is printed."""
        return part(self.query.name)

    @property
    def assumed_changes(self) -> dict[str, int]:
        """The changed rows that costs assume: one where nothing is said."""
        return {name: self.changes.get(name, 1) for name in self.sizes}

    @cached_property
    def planned(self) -> Plan:
        """The program as plans."""
        return plan(self.stages.program)

    # ------------------------------------------------------------ queries

    @cached_property
    def typed(self) -> Expr:
        """The nested term."""
        return unnamed(self.stages.typed)

    @cached_property
    def flats(self) -> tuple[Flat, ...]:
        """The flat query, then the definition of each dictionary, outer ones first."""
        flat = unnamed(self.stages.shredded.flat)
        made = None if is_sum(flat) else self.stages.program.flat.term
        own = Flat(f"{self.view}^F", flat, made, deg(flat, self._parts))
        return (own, *(self._definition(d) for d in self.stages.sites))

    def _definition(self, d: DictLit) -> Flat:
        own = unnamed_dict(d)
        found = term(normal(own.body, {own.var: Label((d.site,))}), dict_type(own, {}, {}).row)
        made = None if is_sum(own.body) else DictLit(d.site, own.var, found)
        return Flat(dictionary_name(d, self.view), own, made, deg_dict(d, self._parts))

    @cached_property
    def sites(self) -> tuple[KeptSite, ...]:
        """Every site of the view, outer ones first."""
        kept = {m.site.name: m for m in self.stages.program.dictionaries if m.site}
        domains = {m.site.name for m in self.stages.program.maps if m.kind is MapKind.DOMAIN and m.site}
        return tuple(KeptSite(d, d.site.name in domains, kept[d.site.name].why) for d in self.stages.sites)

    @cached_property
    def bags(self) -> tuple[InnerBag, ...]:
        """The bags of the view's rows."""
        return tuple(inner_bags(self.stages.shredded.context, self.view))

    # ------------------------------------------------------------ deltas

    @cached_property
    def deltas(self) -> tuple[Change, ...]:
        """δ of the flat query and of the body of every definition, for each part; those that are ∅ are left out."""
        found = [c for name in self.changing for c in self._deltas(name)]
        return tuple(c for c in found if not isinstance(c.term, Empty))

    def _deltas(self, changed: str) -> Iterator[Change]:
        parts = frozenset((changed,))
        flat, *definitions = self.flats
        assert not isinstance(flat.term, DictLit)
        try:
            change = delta(flat.term, parts)
        except (TooBig, TooDeep):  # as it is derived for its statements, reading R⁺, which is less
            change = delta(flat.term, parts, telescoped=True)
        yield self._change(changed, f"δ({flat.name})", change, flat.degree)
        for d, of in zip(self.stages.sites, definitions, strict=True):
            simple = simplify_dict(delta_dict(d, Scope(parts, telescoped=False)))
            assert isinstance(simple, DictLit)
            params, body = open_definition(simple)
            label = ", ".join((show_site(d.site.name), *params))
            yield self._change(changed, f"δ({self.view}^Γ)(⟨{label}⟩)", body, of.degree)

    def _change(self, changed: str, left: str, e: Expr, degree: int) -> Change:
        stored = (n.name for n in nodes(e) if isinstance(n, Rel | DictRel) and n.at is not At.DELTA)
        return Change(changed, left, unnamed(e), degree, deg(e, self._parts), tuple(dict.fromkeys(stored)))

    def orders(self, of: Flat) -> Iterator[Expr | DictLit]:
        """h, δ(h), δ²(h), … with respect to all parts at once; the last reads changes only.

        Raises TooDeep or TooBig when one of them is beyond the limits.
        """
        floor = of.term
        yield floor
        for _ in range(of.degree):
            floor = self._next_order(floor)
            yield floor

    def _next_order(self, h: Expr | DictLit) -> Expr | DictLit:
        """δ(h), the updates in h being one order up; one step of ``delta.tower``, which is for closed terms."""
        if not isinstance(h, DictLit):
            return unnamed(delta(older(h), self._parts))
        before = older(Apply(h, Var(h.var)))
        assert isinstance(before, Apply)
        change = simplify_dict(delta_dict(before.dictionary, Scope(self._parts, telescoped=False)))
        assert isinstance(change, DictLit)
        return unnamed_dict(change)

    # ------------------------------------------------------------ maps

    @cached_property
    def steps(self) -> tuple[tuple[int, Map, tuple[Statement, ...]], ...]:
        """The maps in the order in which they run, each with its level and the statements that ever run."""
        program = self.stages.program
        maps = ((i, m) for i, level in enumerate(program.levels, 1) for m in level)
        own = ((i, m, program.statements_of(m.name)) for i, m in maps)
        return tuple((i, m, tuple(s for s in found if program.changes(s.part))) for i, m, found in own)

    @cached_property
    def part_rows(self) -> dict[str, Type]:
        """The rows of stored parts as tables have them: those of dictionaries with their labels."""
        return stored_rows(self.query.relations, self.query.keys)

    @cached_property
    def _table_rows(self) -> dict[str, Type]:
        """The rows of stored parts, and those of maps as statements see them."""
        return self.part_rows | {name: m.row for name, m in self.stages.program.by_name.items()}

    @cached_property
    def access_keys(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """By stored part or map, the columns that statements look it up by."""
        rows = self._table_rows
        return {t: tuple(column_names(rows[t], index) for index in found) for t, found in self.planned.indexes.items()}

    @cached_property
    def ranges(self) -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
        """By stored part or map, the columns, and the one of which they are read between values."""
        rows = self._table_rows
        found = self.planned.ranges.items()
        return {t: tuple((column_names(rows[t], o.key), range_name(rows[t], o)) for o in own) for t, own in found}

    def readers(self, name: str) -> tuple[Statement, ...]:
        """The statements that read a map."""
        return tuple(s for s in self.stages.program.statements if name in s.reads)

    def also_read(self, m: Map) -> tuple[str, ...]:
        """What the statements of a map read and its definition does not."""
        read = (name for s in self.stages.program.statements_of(m.name) for name in s.reads)
        return tuple(dict.fromkeys(name for name in read if name not in m.reads))

    @cached_property
    def left_out(self) -> tuple[Choice, ...]:
        """The maps that could be kept beside the view's own, and are not."""
        return tuple(c for c in self.stages.choices if c.candidate.map.name not in self.stages.program.by_name)

    # ------------------------------------------------------------ statements

    def joins(self, m: Map, s: Statement) -> tuple[tuple[Access, ...], ...]:
        """How each join of a statement reads its sources."""
        return tuple(join for c in self._reached(s) for join in accesses(c, m.made, self.planned.ranges))

    def others(self, m: Map, s: Statement) -> tuple[tuple[tuple[Access, ...], ...], ...]:
        """Of each of ``joins`` the other orders, which rows of a change choose that find less at first."""
        return tuple(found[1:] for c in self._reached(s) for found in orders(c, m.made, self.planned.ranges))

    def _reached(self, s: Statement) -> tuple[Comprehension, ...]:
        return reached(s.products, self.stages.program.by_name)

    def ways(self, m: Map, s: Statement) -> tuple[tuple[Access, ...], ...]:
        """How the joins read that may take the place of a statement's own: what its part changes in a sum map first."""
        found = (c for _, *others in s.ways for c in others)
        return tuple(join for c in found for join in accesses(c, m.made, self.planned.ranges))

    def told(self, m: Map, s: Statement) -> tuple[Running, ...]:
        """How what places come to that change is told by those near them, where that is read in order."""
        found = self.planned.by_name[m.name].running.get(s.part, ())
        return found if self.planned.tells(found) else ()

    def findings(self, m: Map, s: Statement) -> tuple[Finding, ...]:
        """Those of the verdict on a statement, but for what keys find where only what is in order is read of that."""
        every = self.verdicts[m.name, s.part].findings
        running = (some for some in self.planned.by_name[m.name].running.values() if self.planned.tells(some))
        in_order = any(r.of == s.part for some in running for r in some)
        return tuple(found for found in every if found.blocks or not in_order)

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """The verdict on each statement, by map and part."""
        return {(t.map.name, t.statement.part): t.verdict for t in self.judgement.triggers}

    @property
    def changing(self) -> tuple[str, ...]:
        """Stored parts and groups: what the queries are differentiated by."""
        program = self.stages.program
        return (*program.parts, *(m.name for m in program.maps if m.cut))

    @property
    def _parts(self) -> frozenset[str]:
        return frozenset(self.changing)
