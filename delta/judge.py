"""The verdicts on a compiled view: what it costs, and which of its triggers do not cost what the change costs."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import assert_never

from attrs import frozen

from ripplenest.cost.called import Called
from ripplenest.cost.domains import BagCost
from ripplenest.cost.estimate import is_one_row
from ripplenest.cost.interpret import Sizes, cost
from ripplenest.cost.sizes import derived_sizes, nested_sizes, stored_sizes
from ripplenest.cost.verdict import Finding, Verdict, verdict
from ripplenest.cost.words import There
from ripplenest.delta.compile import Options, Stages, compile_view
from ripplenest.delta.groups.apart import term_apart
from ripplenest.delta.materialize import MODES
from ripplenest.delta.program import Map, MapKind, Statement, TriggerProgram
from ripplenest.delta.unreached import reached
from ripplenest.nrc.errors import NotIncremental
from ripplenest.nrc.syntax import At, Keys, Query
from ripplenest.nrc.types import Label, Record, Site, Type

Rows = Mapping[str, int]
Happens = Callable[[There], bool]


@frozen
class Judged:
    """One statement of a program with its verdict."""

    map: Map
    statement: Statement
    verdict: Verdict


@frozen
class Judgement:
    """What a view costs (nrc-ivm, section 4.2), and the verdict on each of its triggers.

    ``nested`` is C[[view]] over its relations: with ``rows`` of stored parts that are known, else in their symbols.
    ``unique``: by part, the columns by which a row is the only one.
    """

    nested: BagCost
    sizes: Sizes
    triggers: tuple[Judged, ...]
    unique: Keys

    def set_off(self, changed: Collection[str]) -> set[str]:
        """The parts, and maps that pass on, that change when the parts ``changed`` do; one can because another does."""
        found = set(changed)
        passing = {t.map.name: t.map for t in self.triggers if t.map.kind.passes_on}
        while more := {name for name, m in passing.items() if name not in found and found & set(m.reads)}:
            found |= more
        return found

    @property
    def incremental(self) -> bool:
        """True when every trigger costs what the change costs."""
        return all(t.verdict.incremental for t in self.triggers)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Why triggers do not cost what the change costs, each reason once."""
        return tuple(dict.fromkeys(f for t in self.triggers for f in t.verdict.findings if f.blocks))


def judge(query: Query, stages: Stages, rows: Rows | None = None, largest: Rows | None = None) -> Judgement:
    """The verdicts on ``query``. ``rows`` by key: ``M``, ``ΔM``, ``C.orders``, ``ΔC.orders``; ``largest``: the rows of
    the largest inner bag of ``C.orders``, without which inner bags have the average size.

    Raises UnknownName on a counted change of a part that is not counted.
    """
    program = stages.program
    sizes = _sizes(program, rows or {}, largest or {})
    called = _called(program)
    maps = program.by_name
    judged = (
        Judged(m, s, verdict(term_apart(m), s.term, sizes, reached(s.products, maps), called, _held(m, program)))
        for m in _in_order(program)
        for s in program.statements_of(m.name)
        if program.changes(s.part)
    )
    relations: dict[str, Type] = dict(query.relations)
    return Judgement(cost(stages.typed, nested_sizes(relations, rows, largest)), sizes, tuple(judged), program.unique)


def check_strict(
    query: Query, judgement: Judgement, changed: Collection[str] | None = None, happens: Happens = lambda _: False
) -> None:
    """Raises NotIncremental when some trigger is not; it says which expression, why, and what would mend it.

    ``changed``: only triggers that a change of one of these parts sets off, by itself or through a domain. Of what is
    only when a row comes or goes, each batch is asked whether it ``happens``.
    """
    set_off = None if changed is None else judgement.set_off(changed)
    triggers = (t for t in judgement.triggers if set_off is None or t.statement.part in set_off)
    every = [(t, f) for t in triggers for f in t.verdict.findings if f.blocks]
    found = [(t, f) for t, f in every if f.there is None or happens(f.there)]
    if found:
        trigger, finding = found[0]
        mended = _mended(query, judgement.unique)
        raise NotIncremental(
            f"the view cannot be kept fresh in the size of the change: {finding.reason}",
            where=f"view {query.name}, {finding.node}",
            got=f"the trigger for a change of {trigger.statement.part}, of the map {trigger.map.name}",
            possible=[*([finding.advice] if finding.advice else ()), *mended, "another policy"],
        )


def _mended(query: Query, unique: Keys) -> Iterator[str]:
    """The ways to materialise with which every trigger of ``query`` costs what the change costs."""
    for mode in MODES:
        if judge(query, compile_view(query, Options(mode, keys=unique))).incremental:
            yield f"materialize={mode!r}"


def by_key(rows: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    """Rows of parts and of their changes as ``judge`` takes them."""
    return {**rows, **{At.DELTA.show(part): n for part, n in changes.items()}}


def _sizes(program: TriggerProgram, rows: Rows, largest: Rows) -> Sizes:
    relations = {name for name, _ in program.relations}
    bags = {name: row for name, row in program.parts.items() if name in relations}
    dictionaries = {name: row for name, row in program.parts.items() if name not in relations}
    maps = list(_in_order(program))
    changes = {m.name: [s.term for s in program.statements_of(m.name) if program.changes(s.part)] for m in maps}
    groups = {m.name: m.row for m in maps if m.cut is not None}
    terms = {m.name: term_apart(m) for m in maps}
    return derived_sizes(stored_sizes(bags, dictionaries, rows, largest), terms, changes, groups)


def _called(program: TriggerProgram) -> Called:
    sites = {m.name: m.site.name for m in program.of_kind(MapKind.DOMAIN) if m.site}
    made = tuple(m for m in program.maps if m.kind is MapKind.AUXILIARY or m.kind.is_plain)
    kept = {m.name: " and ".join(m.reads) for m in made}
    groups = {m.name: m.cut for m in program.maps if m.cut is not None}
    ones = frozenset(name for name, cut in groups.items() if cut.total and not cut.site.params)
    answers = {name: cut.shown_as for name, cut in groups.items()}
    places = answers | {cut.definition.site.name: cut.shown_as for cut in groups.values()}
    bags = {name: site for name, site in sites.items() if site not in places}
    asked = {name: places[site] for name, site in sites.items() if site in places}
    unique = {part: frozenset(columns) for part, columns in program.unique}
    shown = {name: cut.shown_of for name, cut in groups.items()}
    keys = {part: (columns,) for part, columns in unique.items()}
    fixed = frozenset(m.name for m in program.maps if not program.changes(m.name) or _is_few(m, keys))
    return Called(bags, asked, kept, answers, ones, unique=unique, shown=shown, fixed=fixed)


def _is_few(m: Map, keys: Mapping[str, tuple[frozenset[str]]]) -> bool:
    """Whether it holds the first rows of one place, of which there are no more however many there are of others, or
    what is made of a row that constants tell."""
    if m.ranking is not None:
        return not m.ranking.site.params
    return m.cut is not None and not m.cut.total and all(is_one_row(c, keys) for c in m.products)


def _held(m: Map, program: TriggerProgram) -> bool:
    """Whether each row of a map stands behind a row of the view: those of a dictionary do when its labels have a
    domain, and are held in rows that do."""
    match m.kind:
        case MapKind.FLAT:
            return True
        case MapKind.DOMAIN:
            holders = [*_holders(m, program)]
            return bool(holders) and all(_held(holder, program) for holder in holders)
        case MapKind.DICTIONARY:
            return any(d.site == m.site and _held(d, program) for d in program.of_kind(MapKind.DOMAIN))
        case MapKind.AUXILIARY | MapKind.GROUP | MapKind.ORDERED | MapKind.TOP | MapKind.JOINED:
            return False
        case _:
            assert_never(m.kind)


def _holders(domain: Map, program: TriggerProgram) -> Iterator[Map]:
    """The maps whose rows hold the labels of a domain."""
    for m in (program.flat, *program.dictionaries):
        row = m.row.get("row") if m.kind is MapKind.DICTIONARY and isinstance(m.row, Record) else m.row
        if row is not None and any(site == domain.site for site in _sites(row)):
            yield m


def _sites(t: Type) -> Iterator[Site]:
    match t:
        case Label(sites):
            yield from sites
        case Record(fields):
            for _, inner in fields:
                yield from _sites(inner)
        case _:
            return


def _in_order(program: TriggerProgram) -> Iterator[Map]:
    return (m for level in program.levels for m in level)
