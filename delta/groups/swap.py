"""Swap: the program of a view is that of another one that differs in its rings alone (incremental-faq, section "What's
this paper about?": problems that share one algebraic structure).

Order, trees, maps and statements depend on keys, conditions and the columns that ⊗ multiplies, and not on what ⊗ and ⊕
make of them: factors of deltas are maps of columns (``delta/factor.py``). So where the maps of two views are of one
shape (``delta/shapes.py``), the derivation of one is that of the other, with names and heads of the other in it, and
nothing is derived again.

    δ_p(⊎ᵢ [hᵢ | xs in Rs, conditions]) = ⊎ⱼ [σⱼ(hᵢ) | …]    ⟹    δ_p(⊎ᵢ [h′ᵢ | …]) = ⊎ⱼ [σⱼ(h′ᵢ) | …]

Rings whose ⊕ picks a value (``max``, ``min``) keep their derivations in order, and are of one shape whatever ⊗ is. One
that adds up keeps sums, and multiplies columns inside of maps: between it and those no program is swapped, and the view
is compiled as if there were no other.

Law (swap): what is swapped is what would be compiled: maps, statements, turns and choices.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from threading import Lock

from attrs import evolve, field, frozen

from ripplenest.delta.compile import Front, Options, Stages, completed, derived, front
from ripplenest.delta.factor import map_of
from ripplenest.delta.groups.apart import apart
from ripplenest.delta.groups.shared import Shared
from ripplenest.delta.materialize import Candidate, Choice, Materialized, Use, at_turn
from ripplenest.delta.program import Map, MapKind, Statement
from ripplenest.delta.shapes import Heads, are_alike, is_alike, names_of
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Grouped, Query, Rel

MOST = 64  # programs that are remembered


@frozen
class Programs:
    """Programs that were derived, and those that are swapped for one of them."""

    _known: "OrderedDict[Hashable, tuple[Front, Stages]]" = field(factory=OrderedDict)
    _lock: Lock = field(factory=Lock, eq=False)

    def compile(self, query: Query, options: Options) -> Stages:
        """Every stage of a view, as ``compile_view`` makes them. Raises what that does."""
        wanted = front(query, options)
        key = (*_given(wanted), *(_sketch(m, wanted) for m in wanted.maps))
        known = self._known.get(key)
        found = None if known is None else swapped(*known, wanted)
        if known is None or found is None:
            known = wanted, derived(wanted)
        with self._lock:
            self._known[key] = known
            self._known.move_to_end(key)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return found or known[1]

    def clear(self) -> None:
        """Derive everything again."""
        self._known.clear()


def _given(f: Front) -> tuple[Hashable, ...]:
    return f.options, f.query.relations, f.query.keys


def _sketch(m: Map, f: Front) -> Hashable:
    """What maps of one shape have in common, at a glance."""
    tables = [tuple(rel.name for _, rel in c.generators if rel.name in f.parts) for c in m.products]
    return m.kind, *tables, *(len(c.conditions) for c in m.products)


def swapped(known: Front, stages: Stages, wanted: Front) -> Stages | None:
    """The stages of ``wanted`` by those of ``known``; None where the two are not of one shape."""
    olds, news = [*names_of(known)], [*names_of(wanted)]
    names = dict(zip(olds, news, strict=False))
    if len(olds) != len(news) or _given(known) != _given(wanted):
        return None
    if [names[old] for old in olds] != news or len({*news}) != len(names):
        return None
    swap = _Swap.of(Shared(names), known.maps, wanted.maps)
    made = None if swap is None else swap.with_auxiliaries(stages)
    found = None if made is None else made.materialized(stages, wanted)
    return None if found is None else completed(wanted, found)


@frozen
class _Swap:
    """How terms of one view become those of the other: ``names``, by new name the generators ``rels``, and by map the
    ``heads`` of its products, if they differ. The ``new`` maps are by their old names."""

    names: Shared
    rels: Mapping[str, Rel]
    heads: Mapping[str, tuple[Heads, ...]]
    new: Mapping[str, Map]

    @classmethod
    def of(cls, names: Shared, olds: Sequence[Map], news: Sequence[Map]) -> "_Swap | None":
        """None for maps of other shapes."""
        if len(olds) != len(news) or not all(map(are_alike, olds, news)):
            return None
        rels = {rel.name: rel for m in news for c in m.products for _, rel in c.generators}
        swap = cls(names, rels, {}, {old.name: new for old, new in zip(olds, news, strict=True)})
        heads: dict[str, tuple[Heads, ...]] = {}
        for old, new in zip(olds, news, strict=True):
            pairs = [(swap.product(c), c, d) for c, d in zip(old.products, new.products, strict=True)]
            if not all(is_alike(*own, old.is_folded) for own in pairs):
                return None
            if any(own.head != d.head for own, _, d in pairs):
                heads[old.name] = tuple(Heads(own.head, d.head, frozenset(c.variables())) for own, c, d in pairs)
        return evolve(swap, heads=heads)

    def with_auxiliaries(self, stages: Stages) -> "_Swap | None":
        """It knows the auxiliary maps, too, also those that are not kept. None where their columns come in another
        order, as that depends on names."""
        news = dict(self.new)
        for m in (c.candidate.map for c in stages.choices):
            (product,) = m.products
            own = self.product(product)
            found = m if own == product else map_of(own, m.summed)
            if (found.products, found.summed) != ((own,), m.summed):
                return None
            news[m.name] = found
        names = Shared({**self.names.names, **{old: m.name for old, m in news.items()}})
        rels = {m.name: Rel(m.name, m.row) for m in news.values() if m.kind is MapKind.AUXILIARY}
        return evolve(self, names=names, rels={**self.rels, **rels}, new=news)

    # ------------------------------------------------------------ terms

    def product(self, c: Comprehension) -> Comprehension:
        """``c`` with the names of the other view."""
        generators = tuple((var, self._rel(rel)) for var, rel in c.generators)
        conditions, times = (tuple(map(self.names.elem, own)) for own in (c.conditions, c.times))
        return evolve(c, generators=generators, conditions=conditions, head=self.names.elem(c.head), times=times)

    def _rel(self, rel: Rel) -> Rel:
        name = self._name(rel.name)
        found = self.rels.get(name, rel)
        if not isinstance(rel, Grouped):  # as the change of a fold is, which is finite
            return evolve(rel, name=name, row=found.row)
        return evolve(found, name=name, at=rel.at, order=rel.order)

    def _name(self, name: str) -> str:
        return self.names.names.get(name, name)

    def _made(self, c: Comprehension, of: str) -> Comprehension | None:
        """A product of a statement of the map ``of``; None where it does not say whose head it has."""
        own = self.product(c)
        if of not in self.heads:
            return own
        found = {head for h in self.heads[of] if (head := h.put(own.head)) is not None}
        return evolve(own, head=found.pop()) if len(found) == 1 else None

    # ------------------------------------------------------------ maps, statements and choices

    def materialized(self, stages: Stages, wanted: Front) -> Materialized | None:
        """Those of the other view, in their orders."""
        depths = {c.candidate.map.name: c.candidate.depth for c in stages.choices}
        told = {m.name for m in stages.program.maps if m.apart}
        own = tuple(apart(new) if old in told else new for old, new in self.new.items() if old not in depths)
        olds = [m for m in stages.program.maps if m.kind is MapKind.AUXILIARY]
        olds.sort(key=lambda m: (depths[m.name], self._name(m.name)))
        kept = tuple(evolve(self.new[m.name], why=m.why) for m in olds)
        places = {m.name: i for i, m in enumerate((*own, *kept))}
        turns = {name: i for i, name in enumerate(wanted.turns)}
        statements, choices = [], []
        for s in stages.program.statements:
            if (statement := self._statement(s, wanted.turns)) is None:
                return None
            statements.append(statement)
        for c in stages.choices:
            if (choice := self._choice(c, places, turns)) is None:
                return None
            choices.append(choice)
        statements.sort(key=lambda s: (places[s.map], turns[s.part]))
        choices.sort(key=lambda c: (c.candidate.depth, c.candidate.map.name))
        return Materialized(own, kept, tuple(statements), tuple(choices))

    def _statement(self, s: Statement, turns: Sequence[str]) -> Statement | None:
        part, m = self._name(s.part), self.new[s.map]
        before, others = frozenset(turns[: turns.index(part)]), frozenset(turns) - {part}
        made = [self._made(c, s.map) for c in (*s.products, *s.each)]
        found = tuple(at_turn(_at_old(c, others), before) for c in made if c is not None)
        if len(found) < len(made):
            return None
        return Statement.of(m, part, found[: len(s.products)], found[len(s.products) :])

    def _choice(self, c: Choice, places: Mapping[str, int], turns: Mapping[str, int]) -> Choice | None:
        uses: list[Use] = []
        for use in c.candidate.uses:
            before, after = self._made(use.before, use.map), self._made(use.after, use.map)
            if before is None or after is None:
                return None
            uses.append(Use(self._name(use.map), self._name(use.part), before, after))
        uses.sort(key=lambda use: (places[use.map], turns[use.part]))
        m = self.new[c.candidate.map.name]
        return Choice(Candidate(m, tuple(uses), tuple(turns), c.candidate.depth), c.kept, c.why)


def _at_old(c: Comprehension, parts: frozenset[str]) -> Comprehension:
    """``c`` before it is said what is read after the batch: ``parts`` take their turns in another order."""
    return evolve(c, generators=tuple((var, _before(rel, parts)) for var, rel in c.generators))


def _before(rel: Rel, parts: frozenset[str]) -> Rel:
    return evolve(rel, at=At.OLD) if rel.name in parts and rel.at is At.NEW else rel
