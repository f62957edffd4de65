"""An explanation as plain data: strings, numbers, booleans, lists and dicts, complete where the text is short."""

from collections.abc import Sequence
from typing import Any

from attr import asdict  # the asdict of attrs itself keeps tuples

from ripplenest.cost.domains import show_tcost
from ripplenest.cost.verdict import Finding, Verdict
from ripplenest.delta.materialize import Choice
from ripplenest.delta.program import Map, Statement
from ripplenest.explanation.context import InnerBag
from ripplenest.explanation.eliminations import Joined
from ripplenest.explanation.facts import Facts, Flat, KeptSite
from ripplenest.explanation.groups import GroupFact, group_facts
from ripplenest.explanation.ranking import RankingFact, ranking_facts
from ripplenest.explanation.reads import Access, column_types, shown_row
from ripplenest.nrc.errors import TooBig, TooDeep
from ripplenest.nrc.printing.pretty import show, show_dict
from ripplenest.nrc.printing.text import show_type
from ripplenest.nrc.syntax import DictLit, Expr
from ripplenest.nrc.types import Bag, Type

Json = dict[str, Any]


def data(f: Facts) -> Json:
    """Every fact, in the order of the pipeline."""
    stages, program = f.stages, f.stages.program
    flat, *definitions = f.flats
    return {
        "view": f.query.name,
        "type": show_type(Bag(stages.row)),
        "relations": {name: show_type(Bag(row)) for name, row in f.query.relations},
        "rows": dict(f.sizes),
        "changes": f.assumed_changes,
        "query": show(f.typed),
        "cost": str(f.judgement.nested),
        "steps": show_tcost(f.judgement.nested),
        "incremental": f.judgement.incremental,
        "warnings": [_finding(w) for w in f.judgement.warnings],
        "shredded": {
            "flat": _term(flat.term),
            "degree": flat.degree,
            "normal": _normal(flat),
            "dictionaries": [_site(s, d) for s, d in zip(f.sites, definitions, strict=True)],
            "context": [_plain(b) for b in f.bags],
        },
        "deltas": [
            {"part": c.part, "of": c.left, "term": show(c.term), "before": c.before, "after": c.after,
             "reads": list(c.reads)}
            for c in f.deltas
        ],
        "groups": [_group(g) for g in group_facts(f)],
        "rankings": [_ranking(r) for r in ranking_facts(f)],
        "orders": [_orders(f, found) for found in f.flats],
        "parts": [
            {"name": name, "columns": _columns(row), "access_keys": _keys(f, name), "ranges": _ranges(f, name)}
            for name, row in f.part_rows.items()
        ],
        "maps": [_map(f, m) for _, m, _ in f.steps],
        "left_out": [_choice(c) for c in f.left_out],
        "turns": list(program.turns),
        "statements": [_statement(f, i, m, s) for i, m, found in f.steps for s in found],
        "dependencies": [
            {"step": i, "map": m.name, "reads": list(m.reads), "also_read": list(f.also_read(m))} for i, m, _ in f.steps
        ],
        "work": [asdict(p) for p in f.pieces],
        "fingerprint": program.fingerprint,
    }  # fmt: skip


def _group(g: GroupFact) -> Json:
    """h, the lineage, and a: what is merged, by what, and what is made of it."""
    return {
        "map": g.name,
        "site": g.at,
        "h": show(g.h),
        "lineage": list(g.lineage),
        "merge": list(g.merge),
        "answers": dict(g.answers),
        "shown": dict(g.shown),
        "nothing": None if g.nothing is None else list(g.nothing),
        "why": g.why,
        "joins": [_joined(found) for found in g.joins],
    }


def _ranking(r: RankingFact) -> Json:
    return {
        "map": r.name,
        "site": r.at,
        "kept": r.kept,
        "h": show(r.h),
        "lineage": list(r.lineage),
        "by": list(r.by),
        "limit": r.limit,
        "nothing": None if r.nothing is None else list(r.nothing),
        "edge": r.edge,
        "open": r.open,
        "so_far": r.so_far,
        "fits": list(r.fits),
        "holds": list(r.holds),
    }


def _joined(found: Joined) -> Json:
    """The hypergraph, the bound on the rows of the join, and an order of elimination; exponents are fractions."""
    h, order = found.hypergraph, found.elimination
    return {
        "edges": [
            {"kind": e.kind, "name": e.name, "table": e.table, "vertices": sorted(e.vertices)} for e in h.edges
        ],
        "keys": sorted(h.free),
        "rows": dict(found.rows),
        "assumed": sorted(found.assumed),
        "most_rows": found.most,
        "exponent": found.exponent,
        "order": list(order.order),
        "width": str(order.width),
        "exact": order.exact,
        "steps": [
            {"vertex": s.vertex, "joins": list(s.joins), "keeps": sorted(s.keeps), "width": str(s.width),
             "most_rows": s.rows}
            for s in order.steps
        ],
    }  # fmt: skip


def _term(t: Expr | DictLit) -> str:
    return show_dict(t) if isinstance(t, DictLit) else show(t)


def _normal(flat: Flat) -> str:
    return _term(flat.normal or flat.term)


def _plain(fact: Access | InnerBag | Finding) -> Json:
    return asdict(fact, retain_collection_types=False)


def _site(s: KeptSite, flat: Flat) -> Json:
    site = s.definition.site
    return {
        "site": site.name,
        "parameters": {name: show_type(t) for name, t in site.params},
        "definition": _term(flat.term),
        "degree": flat.degree,
        "normal": _normal(flat),
        "kept": s.rule,
        "why": s.why,
    }


def _orders(f: Facts, of: Flat) -> Json:
    """The terms of all orders; those beyond the limits are left out, and ``complete`` says so."""
    terms: list[str] = []
    try:
        terms.extend(_term(t) for t in f.orders(of))
    except (TooBig, TooDeep):
        return {"of": of.name, "degree": of.degree, "terms": terms, "complete": False}
    return {"of": of.name, "degree": of.degree, "terms": terms, "complete": True}


def _columns(row: Type) -> list[Json]:
    return [{"name": name, "type": t} for name, t in column_types(row)]


def _keys(f: Facts, name: str) -> list[list[str]]:
    return [list(key) for key in f.access_keys.get(name, ())]


def _ranges(f: Facts, name: str) -> list[Json]:
    return [{"columns": list(columns), "range": column} for columns, column in f.ranges.get(name, ())]


def _map(f: Facts, m: Map) -> Json:
    return {
        "name": m.name,
        "kind": m.kind.value,
        "columns": _columns(shown_row(m)),
        "summed": ["·".join(monomial) for monomial in m.summed],
        "access_keys": _keys(f, m.name),
        "ranges": _ranges(f, m.name),
        "definition": show(m.term),
        "why": m.why,
        "read_by": [{"map": s.map, "part": s.part} for s in f.readers(m.name)],
        "built_of": [list(split) for split in m.splits],
    }


def _choice(c: Choice) -> Json:
    return {
        "definition": show(c.candidate.map.term),
        "order": c.candidate.depth,
        "parts": list(dict.fromkeys(use.part for use in c.candidate.uses)),
        "why": c.why,
    }


def _statement(f: Facts, step: int, m: Map, s: Statement) -> Json:
    return {
        "step": step,
        "map": m.name,
        "part": s.part,
        "term": show(s.term),
        "joins": [[_plain(a) for a in join] for join in f.joins(m, s)],
        "others": [[[_plain(a) for a in order] for order in others] for others in f.others(m, s)],
        "ways": [[_plain(a) for a in join] for join in f.ways(m, s)],
        "near": next(("before" if r.is_upper else "behind" for r in f.told(m, s)), None),
        "verdict": _verdict(f.verdicts[m.name, s.part], f.findings(m, s)),
    }


def _verdict(v: Verdict, findings: Sequence[Finding]) -> Json:
    """``before`` and ``after``: what the map costs, and what its change does; in steps as well."""
    before, after = v.steps
    return {
        "incremental": v.incremental,
        "before": str(v.before),
        "after": str(v.after),
        "steps_before": before,
        "steps_after": after,
        "findings": [_finding(found) | {"blocks": found.blocks} for found in findings],
    }


def _finding(found: Finding) -> Json:
    return {"node": found.node, "reason": found.reason, "advice": found.advice}
