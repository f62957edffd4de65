"""What there is to say about a compiled view: the facts that ``explain`` prints and returns as data."""

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, assert_never

from attrs import frozen

from ripplenest.delta.compile import Stages
from ripplenest.delta.program import Map, MapKind, Statement
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.normal import Comprehension
from ripplenest.nrc.pretty import open_definition, show, show_dict, show_site
from ripplenest.nrc.simplify import simplify_dict
from ripplenest.nrc.syntax import (
    At,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Empty,
    Expr,
    Query,
)
from ripplenest.nrc.text import part, path
from ripplenest.nrc.types import Type
from ripplenest.plan.access import Step, access
from ripplenest.plan.columns import columns
from ripplenest.plan.lower import lower
from ripplenest.plan.product import Product
from ripplenest.shred.contexts import BagContext, Context, NoContext, RecordContext

How = Literal["change", "probe", "scan"]


@frozen
class Change:
    """``left`` = ``term``: how the flat query or one definition changes when ``part`` does; not telescoped."""

    part: str
    left: str
    term: Expr


@frozen
class Access:
    """How one source of one join is read: ``how`` is change, probe or scan."""

    how: How
    source: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        match self.how:
            case "change":
                return self.source
            case "probe":
                return f"probe {self.source} by {', '.join(self.columns)}"
            case "scan":
                return f"SCAN {self.source} (no equality)"
            case _:
                assert_never(self.how)


@frozen
class Site:
    """Where labels are made, and how the dictionary of these labels is kept."""

    definition: DictLit
    domain: bool
    why: str

    @property
    def rule(self) -> Literal["key-bound", "domain"]:
        """The name of the rule by which it is kept."""
        return "domain" if self.domain else "key-bound"


@frozen
class InnerBag:
    """One bag of the view's type: where it is in the rows around it, and the dictionary that defines its labels."""

    path: str
    dictionary: str
    inner: tuple["InnerBag", ...]


def inner_bags(c: Context, view: str, at: str = "") -> Iterator[InnerBag]:
    """The context tree A^Γ of the shredded view, one node for each bag."""
    match c:
        case BagContext(d, rows):
            yield InnerBag(at or "[]", _dictionary(d, view), tuple(inner_bags(rows, view)))
        case RecordContext(fields):
            for name, context in fields:
                yield from inner_bags(context, view, f"{at}.{path(name)}" if at else path(name))
        case NoContext():
            return
        case _:
            assert_never(c)


def _dictionary(d: DictExpr, view: str) -> str:
    """A dictionary by name; the definitions of sites are printed elsewhere."""
    match d:
        case DictLit(site):
            return f"{view}^Γ[{path(site.name)}]"
        case DictUnion(left, right):
            return f"{_dictionary(left, view)} ∪ {_dictionary(right, view)}"
        case DictPlus(left, right):
            return f"({_dictionary(left, view)} ⊎ {_dictionary(right, view)})"
        case DictRel() | DictEmpty():
            return show_dict(d)
        case _:
            assert_never(d)


def accesses(c: Comprehension, row: Type) -> Iterator[tuple[Access, ...]]:
    """The order of reading of every join that the product ``c`` becomes."""
    for product in lower(c, row):
        yield tuple(_access(step, product, c) for step in access(product))


def _access(step: Step, product: Product, c: Comprehension) -> Access:
    rel = c.generators[step.source][1]
    names = columns(rel.row)
    changed = product.sources[step.source].at is At.DELTA
    how: How = "change" if changed else "probe" if step.keys else "scan"
    return Access(how, show(rel), tuple(path(names[i].path) for i in step.columns))


@frozen(slots=False)
class Facts:
    """The stages of one view, and what follows from them."""

    query: Query
    stages: Stages

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every site of the view, outer ones first."""
        kept = {m.site.name: m for m in self.stages.program.dictionaries if m.site}
        domains = {m.site.name for m in self.stages.program.maps if m.kind is MapKind.DOMAIN and m.site}
        return tuple(Site(d, d.site.name in domains, kept[d.site.name].why) for d in self.stages.sites)

    @cached_property
    def bags(self) -> tuple[InnerBag, ...]:
        """The bags of the view's rows."""
        return tuple(inner_bags(self.stages.shredded.context, self.view))

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """δ of the flat query and of the body of every definition, for each part; those that are ∅ are left out."""
        found = [c for name in self.stages.program.parts for c in self._changes(name)]
        return tuple(c for c in found if not isinstance(c.term, Empty))

    def _changes(self, changed: str) -> Iterator[Change]:
        parts = frozenset((changed,))
        yield Change(changed, f"δ({self.view}^F)", delta(self.stages.shredded.flat, parts))
        for d in self.stages.sites:
            simple = simplify_dict(delta_dict(d, Scope(parts, telescoped=False)))
            assert isinstance(simple, DictLit)
            params, body = open_definition(simple)
            yield Change(changed, f"δ({self.view}^Γ)(⟨{', '.join((show_site(d.site.name), *params))}⟩)", body)

    @cached_property
    def steps(self) -> tuple[tuple[int, Map, tuple[Statement, ...]], ...]:
        """The maps in the order in which they run, each with its level and its statements."""
        program = self.stages.program
        return tuple((i, m, program.statements_of(m.name)) for i, level in enumerate(program.levels, 1) for m in level)

    def joins(self, m: Map, s: Statement) -> tuple[tuple[Access, ...], ...]:
        """How each join of a statement reads its sources."""
        return tuple(join for c in s.products for join in accesses(c, m.row))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Statements whose time depends on the size of a table, not of the change."""
        scans = {
            f"{part(m.name)}, when {part(s.part)} changes, reads all of {a.source}: no equality leads there"
            for _, m, statements in self.steps
            for s in statements
            for join in self.joins(m, s)
            for a in join
            if a.how == "scan"
        }
        return tuple(sorted(scans))

    @property
    def view(self) -> str:
        """The view's name as it is printed."""
        return part(self.query.name)
