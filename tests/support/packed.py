"""Many databases in one run: a program whose tables have a case number in front of joining.

Spark takes as long for one row as for a thousand, so that a law is tried on many databases at once. Every source gets
the case as its first column, every join equates it, every map keeps it, and so does the key of every group; nothing
else of the program changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import assert_never

from attrs import evolve

from ripplenest.data.order import Ordering
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG, Base
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import Plan, PlannedMap, Ways, access_keys
from ripplenest.plan.product import Band, Col, Const, Edge, Key, Op, Product, Scalar, Source, Step
from ripplenest.plan.ranges import ranged
from ripplenest.plan.ranking import Ranked
from ripplenest.run.build import build
from ripplenest.run.joiner import Joiner
from ripplenest.run.propagate import propagate
from ripplenest.shred.values import Parts
from support.programs import Memory, Running, Tables, part_tables

CASE = LONG
CASES = "cases"


def pack(p: Plan) -> Plan:
    """The program over tables with a case column."""
    levels = tuple(tuple(_map(m) for m in level) for level in p.levels)
    return Plan(p.programs, levels, access_keys(levels))


def _map(m: PlannedMap) -> PlannedMap:
    triggers = tuple((part, tuple(map(_product, products))) for part, products in m.triggers)
    own, told = (None if f is None else _folding(f) for f in (m.folding, m.told))
    first = None if m.ranked is None else _ranked(m.ranked)
    keys = None if m.keys is None else m.keys + 1
    types, made, build = (CASE, *m.types), (CASE, *m.made), tuple(map(_product, m.build))
    trees, ways = _ways(m.trees), {part: _ways(found) for part, found in m.ways.items()}
    packed = evolve(m, types=types, build=build, triggers=triggers, made=made, folding=own, ranked=first, keys=keys)
    return evolve(packed, told=told, trees=trees, ways=ways)


def _ways(found: Ways) -> Ways:
    return tuple(tuple(tuple(map(_product, way)) for way in ways) for ways in found)


def _ranked(r: Ranked) -> Ranked:
    """The same."""
    by = tuple(evolve(b, column=b.column + 1) for b in r.order.by)
    order = Ordering((0, *(c + 1 for c in r.order.key)), by)
    by = None if r.nearest is None or r.nearest.by is None else evolve(r.nearest.by, column=r.nearest.by.column + 1)
    nearest = None if r.nearest is None else evolve(r.nearest, column=r.nearest.column + 1, by=by)
    return evolve(r, keys=r.keys + 1, order=order, visible=(CASE, *r.visible), nearest=nearest)


def _folding(f: Folding) -> Folding:
    """The case is the first column of the place."""
    sums = tuple(evolve(a, args=tuple(c + 1 for c in a.args)) for a in f.accumulators)
    made, types = (CASE, *f.made), (CASE, *f.types)
    return evolve(f, places=f.places + 1, keys=f.keys + 1, accumulators=sums, made=made, types=types)


def _product(p: Product) -> Product:
    """A product that begins with no table of its own has its row in every case."""
    own = tuple(evolve(s, types=(CASE, *s.types)) for s in p.sources)
    alone = not p.steps or p.steps[0].place
    sources = (*own, Source(CASES, At.OLD, (CASE,))) if alone else own
    columns = [Col(i, 0, CASE) for i in range(len(sources))]
    same = {(a.source, b.source): Op("eq", (a, b), BOOL) for a, b in combinations(columns, 2)}
    begin = (Step(len(own)),) if alone else ()
    orders = (p.steps, p.cautious_steps, *p.others)
    steps, cautious, *others = (_steps((*begin, *map(_step, of)), columns, same) for of in orders)
    return evolve(
        p,
        sources=sources,
        conditions=(*same.values(), *_behind(p.conditions)),
        head=(columns[steps[0].source], *_behind(p.head)),
        times=_behind(p.times),
        steps=steps,
        cautious_steps=cautious,
        partial=_behind(p.partial),
        others=tuple(others),
    )


def _behind(scalars: Iterable[Scalar]) -> tuple[Scalar, ...]:
    return tuple(map(_shifted, scalars))


def _shifted(s: Scalar) -> Scalar:
    """The same scalar, over columns behind the case."""
    match s:
        case Col(source, column):
            return evolve(s, column=column + 1) if source >= 0 else s
        case Const():
            return s
        case Op(_, args):
            return evolve(s, args=_behind(args))
        case _:
            assert_never(s)


def _step(s: Step) -> Step:
    keys = tuple(Key(k.column + 1, _shifted(k.scalar), k.null_safe) for k in s.keys)
    band, beside = None if s.band is None else _band(s.band), tuple(map(_band, s.beside))
    return evolve(s, keys=keys, ready=_behind(s.ready), guarded=_behind(s.guarded), band=band, beside=beside)


def _band(b: Band) -> Band:
    return Band(*map(_edge, b.both))


def _edge(e: Edge | None) -> Edge | None:
    return None if e is None else Edge(e.column + 1, _shifted(e.scalar))


def _steps(steps: Sequence[Step], columns: Sequence[Col], same: Mapping[tuple[int, int], Op]) -> tuple[Step, ...]:
    """Each source but the first is looked up by its case as well, which is that of all sources read before."""
    first, *others = steps
    found, seen = [first], {first.source}
    for step in others:
        known = (equal for pair, equal in same.items() if step.source in pair and seen & {*pair})
        via = step.via or (*(between.via for between in ranged(step)[:1]),) or (first.source,)
        case = Key(0, columns[via[0]], step.place)
        found.append(evolve(step, keys=(case, *step.keys), via=() if step.place else via, ready=(*known, *step.ready)))
        seen.add(step.source)
    return tuple(found)


def packed_tables(p: Plan, cases: Sequence[Parts]) -> Tables:
    """The stored tables of all cases together."""
    each = [part_tables(p.program, parts) for parts in cases]
    return {name: _together([tables[name] for tables in each]) for name in p.program.parts}


def _together(cases: Sequence[Rows]) -> Rows:
    types: tuple[Base, ...] = (CASE, *cases[0].types)
    return Rows.of_pairs(types, [((i, *row), n) for i, rows in enumerate(cases) for row, n in rows.pairs()])


class Packed:
    """A packed program and everything it stores."""

    def __init__(self, p: Plan, cases: Sequence[Parts], joiner: Joiner) -> None:
        self.original, self.plan, self.count, self.joiner = p, pack(p), len(cases), joiner
        numbers = Rows.of_pairs((CASE,), [((i,), 1) for i in range(len(cases))])
        tables = {**packed_tables(p, cases), CASES: numbers}
        self.tables: Tables = {**tables, **build(self.plan, Memory(tables, {}), joiner)}

    def apply(self, deltas: Sequence[Parts], here: Joiner | None = None) -> None:
        """One batch of every case, in one propagation."""
        changes = {n: rows for n, rows in packed_tables(self.original, deltas).items() if len(rows)}
        done = propagate(self.plan, Memory(self.tables, self.plan.indexes), changes, self.joiner, here)
        for name, rows in {**changes, **done.changes}.items():
            self.tables[name] = self.tables[name].plus(rows).consolidated()

    def case(self, i: int, joiner: Joiner) -> Running:
        """One of the cases on its own."""
        return Running(self.original, {n: self._own(rows, i) for n, rows in self.tables.items() if n != CASES}, joiner)

    def _own(self, rows: Rows, case: int) -> Rows:
        return Rows.of_pairs(rows.types[1:], [(r[1:], n) for r, n in rows.counts().items() if r[0] == case])
