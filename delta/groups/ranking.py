"""The first rows of a bag, cut: what is kept in order, and what is read of it.

A bag of first rows is not linear, nor is a greatest value: when the first one goes, another one comes that no change
mentions. So τ is kept apart as groups are (``delta/groups/strata.py``), in two maps. One holds all rows of the operand,
by place, and is as linear as the operand is; the store keeps it in order. The other holds the first of them, and is
what stands in the place of τ. Its step reads on in the order from where the stored rows end (``run/refill.py``).

    τ_α(n; x ∈ e; o) ⟶ T_α⟨Π⟩           T_α = first n of O_α by o          O_α = [(α,Π) ↦ e]
    φ_α(x ∈ e; max(t)) ⟶ T_α⟨Π⟩         of the bag of t, in the order t desc, with n = 1; NULL where there is none
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial

from attrs import evolve, field, frozen

from ripplenest.delta.chain import chain, read
from ripplenest.delta.groups.nearest import Edge
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.functions.folds import EXTREME
from ripplenest.nrc.paths import as_written, root
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.rewriting.equations import same_values
from ripplenest.nrc.syntax import (
    DictLit,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Lit,
    Order,
    Pred,
    Proj,
    Sng,
    Top,
    Tuple,
    Var,
    dict_row,
)
from ripplenest.nrc.typecheck import dict_type, elem_type
from ripplenest.nrc.types import BOOL, Base, Record, Site, Type, nullable
from ripplenest.nrc.walk import Names, at_sites, nodes, replace_elem, unique_binders
from ripplenest.shred.close import made_of

VALUE = "value"  # what a greatest or least value is called
RANKED, ROW = "x", "row"  # a row of the map that is kept in order, and the field of it that readers see
ASKED = "asked"


@frozen
class Ranking:
    """The first ``limit`` rows of each place in their own map ``name``, and all of them in the map ``kept``: its rows
    are those of ``definition``, ⟨row, o…⟩, with what they are ordered by where no column of ``row`` says it. ``order``
    is over such a row ``x``. ``total``: a place without rows has one of NULLs. Where there is an ``edge``, a place has
    those behind it. It stands ``at`` a site of the view.
    """

    name: str
    kept: str
    definition: DictLit
    site: Site
    row: Type
    order: tuple[Order, ...]
    limit: int
    total: bool
    at: str = field(default="", eq=False)
    edge: Edge | None = None

    @property
    def made_of(self) -> Hashable:
        """What is equal of what stands for the same, whatever its site and its parameters are called."""
        return made_of(self.definition), self.ordered

    @property
    def ordered(self) -> Hashable:
        """What is made of the rows of the definition."""
        until = self.edge and self.edge.until and (self.edge.until.open, self.edge.until.value)
        behind = self.edge and (self.edge.open, self.edge.value, self.edge.by, until, self.asked_by)
        return self.row, self.order, self.limit, self.total, behind

    @property
    def asked_by(self) -> tuple[Type, ...]:
        """What labels of its places have besides what those of its rows do: the value of the edge, and what that is of.
        """
        return tuple(t for _, t in self.site.params[len(self.definition.site.params) :])

    @property
    def computed(self) -> frozenset[str]:
        """The parameters of its places that others tell."""
        edges = () if self.edge is None else (self.edge, self.edge.until)
        return frozenset(e.param for e in edges if e is not None and e.value is not None)

    @property
    def of_nothing(self) -> tuple[tuple[str, Elem], ...]:
        """What is shown of nothing."""
        return tuple((name, _nothing(t)) for name, t in self.row.fields) if isinstance(self.row, Record) else ()

    @property
    def nulls(self) -> tuple[Lit, ...]:
        """The same, column by column."""
        return tuple(n for _, t in self.of_nothing for n in nodes(t) if isinstance(n, Lit))

    @property
    def visible(self) -> Record:
        """⟨label, row⟩"""
        return dict_row(self.row, self.name, self.site.params)

    @property
    def stored(self) -> Record:
        """⟨label, row: ⟨row, o…⟩⟩, in both maps."""
        return dict_row(dict_type(self.definition, {}, {}).row, self.name, self.site.params)

    @property
    def made(self) -> Record:
        """The same; behind an edge rows and places that are ``asked`` for, which hold anything in the columns of the
        other."""
        found = self.stored
        return found if self.edge is None else Record((*found.fields, (ASKED, BOOL)))

    @property
    def kept_rows(self) -> Record:
        """The same, with the labels of the map that is kept in order."""
        own = self.definition.site
        return dict_row(dict_type(self.definition, {}, {}).row, own.name, own.params)

    @property
    def rule(self) -> str:
        """Which rows of its definition are stored, as text."""
        ways = (show_elem(o.by) + " desc" * o.descending + " nulls first" * o.nulls_first for o in self.order)
        behind = "" if self.edge is None else f" behind {'an open ' * self.edge.open}{self.edge.param}"
        if self.edge is not None and self.edge.by is not None:
            behind += f" by {show_elem(self.edge.by.by)}{' desc' * self.edge.by.descending}"
            if self.edge.until is not None:
                behind += f" until {'an open ' * self.edge.until.open}{self.edge.until.param}"
        return f"first {self.limit} of {self.kept} by {', '.join(ways)}{behind}" + " for every place" * self.total

    @property
    def shown_as(self) -> str:
        """What it is, and of what, for people."""
        rows = chain(unique_binders(self.definition.body), RANKED)
        found = [read(o.by, {RANKED: rows.head}) for o in self.order] if isinstance(rows.head, Tuple) else []
        by = [show_elem(as_written(t)) for t in found]
        if self._is_value:
            return f"{EXTREME[self.order[0].descending]}({by[0] if by else '…'})"
        ways = [text + " desc" * o.descending for text, o in zip(by, self.order, strict=False)]
        return f"the first {self.limit}" + (f" by {', '.join(ways)}" if ways else f" of {part(self.name)}")


    @property
    def shown_of(self) -> dict[str, Elem]:
        """What its columns are, where that is not the row itself, of variables that are called like them."""
        return {VALUE: Var(self.shown_as)} if self._is_value else {}

    @property
    def _is_value(self) -> bool:
        """Whether it is a greatest or least value, and no row."""
        is_one = isinstance(self.row, Record) and len(self.row.fields) == 1
        return self.total and is_one and self.order[0].by == Proj(Proj(Var(RANKED), ROW), VALUE)


def _nothing(t: Type) -> Elem:
    """NULL in each place."""
    if isinstance(t, Record):
        return Tuple(tuple((name, _nothing(own)) for name, own in t.fields))
    assert isinstance(t, Base)
    return Lit(None, t)


def is_extreme(e: Expr) -> bool:
    """Whether ``e`` is a fold that one row answers, alone: what is kept as the first row."""
    return isinstance(e, Group) and e.keys is None and [f.fn in EXTREME for f in e.folds] == [True]


def has_extremes(e: Expr) -> bool:
    """Whether ``e`` is a group with such folds beside keys or others."""
    return isinstance(e, Group) and any(f.fn in EXTREME for f in e.folds) and not is_extreme(e)


def first_value(e: Expr, var: str) -> tuple[Top, Elem, Elem] | None:
    """The first row of some, what ``e`` answers in its row ``var``, and where that is in the first row, called so as
    well, if ``e`` is φ_α(x ∈ (for y in τ(1; …) union sng(y.f)); max(x)): of a bag of one. So each value of the row is
    read of one map, where a place without it has NULLs."""
    match e:
        case Group(_, x, For(y, Top(limit=1) as top, body), None, (Fold(name, fn, (arg,)),)) if fn in EXTREME:
            rows = chain(body, x)
            value = rows.read(arg, x)
            if isinstance(value, Proj) and root(value) == y and not rows.generators and not rows.conditions:
                return top, Proj(Var(var), name), replace_elem(value, {y: Var(var)})
    return None


def of_none(row: Type) -> Type:
    """The type of rows that may be of nothing."""
    match row:
        case Record(fields):
            return Record(tuple((name, of_none(t)) for name, t in fields))
        case Base():
            return nullable(row)
    raise LawBroken("rows in order that hold more than values", got=row)


def as_top(g: Group) -> Top:
    """φ_α(x ∈ e; f: max(t)) as the first of the rows ⟨value: t⟩."""
    (fold,) = g.folds
    rows = chain(g.of, g.var)
    (arg,) = fold.args
    # The same whatever it is called, and whichever end is asked for: both are read of one map.
    of = rows.term(Tuple(((VALUE, rows.read(arg, g.var)),)))
    order = Order(Proj(Var(g.var), VALUE), descending=fold.fn == "max")
    return Top(g.site, g.var, of, (order,), 1)


def ordered_rows(t: Top, beside: Order | None = None) -> tuple[Expr, tuple[Order, ...], Order | None]:
    """The rows ⟨row, o…⟩ of a τ, its order over them, and what is ``beside`` it over them, which is of what rows are
    made of. What orders them a second time does not matter."""
    rows = chain(t.of, t.var)
    columns: list[tuple[str, Elem]] = []
    orders: dict[Elem, Order] = {}
    for o in t.order:
        by = _in_row(o.by, t.var) if _is_path(o.by, t.var) else _column(rows.read(o.by, t.var), columns)
        orders.setdefault(by, evolve(o, by=by))
    if beside is not None:
        found = _path(beside.by, rows.head, Proj(Var(RANKED), ROW))
        beside = evolve(beside, by=_column(beside.by, columns) if found is None else found)
    return rows.term(Tuple(((ROW, rows.head), *columns))), tuple(orders.values()), beside


def _column(t: Elem, columns: list[tuple[str, Elem]]) -> Elem:
    """The column beside a row that ``t`` is, a new one if none of ``columns`` is that yet."""
    name = next((name for name, own in columns if own == t), f"o{len(columns)}")
    if len(columns) == int(name[1:]):
        columns.append((name, t))
    return Proj(Var(RANKED), name)


def _path(t: Elem, head: Elem, at: Elem) -> Elem | None:
    """Where ``t`` is in ``head``, which is ``at`` a path; None where it is nowhere."""
    if t == head:
        return at
    if isinstance(head, Tuple):
        found = (_path(t, own, Proj(at, name)) for name, own in head.fields)
        return next((p for p in found if p is not None), None)
    if isinstance(t, Proj) and (below := _path(t.of, head, at)) is not None:
        return Proj(below, t.field)
    return None


def _is_path(t: Elem, var: str) -> bool:
    return t == Var(var) or (isinstance(t, Proj) and _is_path(t.of, var))


def _in_row(t: Elem, var: str) -> Elem:
    return Proj(_in_row(t.of, var), t.field) if isinstance(t, Proj) else Proj(Var(RANKED), ROW)


def split(g: Group, types: Mapping[str, Type], site: Callable[..., str]) -> Expr:
    """A group whose greatest and least values are folds of their own, each at a ``site`` of its own; and so are the
    groups in what they fold, as those may be made for other places. ``types`` are those of what is around it and of
    ``g.var``; what reads its rows may read these too, so nothing here is called like them.

    γ_α(x ∈ e; k; f, m: max(t)) ⟶ for g in γ_α(x ∈ e; k; f) union for m in φ_β(x ∈ (for x in e where k(x) <=> g.k union
    sng(x)); m: max(t)) union sng⟨g.k, g.f, m.m⟩
    """
    names = Names(frozenset(n.name for n in nodes(g) if isinstance(n, Var)) | types.keys() | {g.var})
    own, inner = names.fresh("g"), names.fresh(g.var)
    others = tuple(f for f in g.folds if f.fn not in EXTREME)
    found: dict[str, Elem] = {f.name: Proj(Var(own), f.name) for f in others}
    chosen: list[tuple[str, Group]] = []
    for f in (f for f in g.folds if f.fn in EXTREME):
        var = names.fresh("m")
        found[f.name] = Proj(Var(var), f.name)
        copied = evolve(g, of=at_sites(g.of, partial(site, g.site, f.name)))
        chosen.append((var, Group(site(g.site, f.name), g.var, _of_key(copied, types, own, inner), None, (f,))))
    keys = tuple((name, Proj(Var(own), name)) for name, _ in g.keys or ())
    body: Expr = Sng(Tuple((*keys, *((f.name, found[f.name]) for f in g.folds))))
    for var, one in reversed(chosen):
        body = For(var, one, body)
    return For(own, evolve(g, folds=others), body) if others or g.keys else body


def _of_key(g: Group, types: Mapping[str, Type], own: str, inner: str) -> Expr:
    """The rows of the key of the row ``own`` of g."""
    if not g.keys:
        return g.of
    body: Expr = Sng(Var(inner))
    for name, key in g.keys:
        mine = read(key, {g.var: Var(inner)})
        for same in same_values(mine, Proj(Var(own), name), elem_type(key, types)):
            body = For("_", Pred(same), body)
    return For(inner, g.of, body)
