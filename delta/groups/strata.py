"""The cut: groups become maps of their own, so that what is below them and what is above them is linear again.

A group is not linear: the change of a sum is no sum of changes of rows that are there. So it is kept apart, as inner
bags are. What a group is made of is a function of its place, of the values around it that it uses: a *definition*,
closed like that of an inner bag (``shred/close.py``), whose rows ⟨k: keys, v: arguments⟩ are linear in what it reads.
Its map folds these rows, by place and key. What stands in the place of the group is the dictionary of that map, applied
to the place: ``γ_α(x ∈ e; k; f) ⟶ α⟨Π⟩``. A fold without keys has a row for every place (``syntax.Total``).

Law (cut): ⟦h⟧ = ⟦cut h⟧ over the maps of its groups. Groups inside of groups are cut first, so definitions are flat
linear terms over parts and the maps of earlier groups; theorems, deltas, factors and plans are those of such terms.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from ripplenest.delta.around import Around
from ripplenest.delta.chain import chain
from ripplenest.delta.groups.fuse import fuse, fuse_dict
from ripplenest.delta.groups.nearest import Behind, behind, tied
from ripplenest.delta.groups.pull import FOLDED, Pulled, pull
from ripplenest.delta.groups.ranking import (
    Ranking,
    as_top,
    first_value,
    has_extremes,
    is_extreme,
    of_none,
    ordered_rows,
    split,
)
from ripplenest.nrc import interpret
from ripplenest.nrc.bags import Value
from ripplenest.nrc.functions import folds
from ripplenest.nrc.paths import as_written, path_name
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part, show_type
from ripplenest.nrc.rewriting.computed import of_places
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict, simplify_elem
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    DictExpr,
    DictLit,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    GroupRel,
    InL,
    Let,
    Lit,
    OutL,
    Plus,
    Proj,
    Sng,
    Top,
    Tuple,
    Var,
    dict_row,
)
from ripplenest.nrc.typecheck import dict_type, elem_type
from ripplenest.nrc.types import Base, Record, Site, Type
from ripplenest.nrc.walk import (
    Names,
    free_vars,
    nodes,
    rebuild,
    rebuild_dict,
    rebuild_elem,
    replace_elem,
    replace_part,
    unique_binders,
)
from ripplenest.shred.close import close, made_of, opened

KEY, VALUES = "k", "v"  # the fields of the rows that a definition makes


@frozen
class Answer:
    """A fold of a group over the arguments that stand at ``args`` among the values of its definition."""

    name: str
    fn: str
    args: tuple[int, ...]
    type: Base


@frozen
class Cut:
    """A group in its own map ``name``: the definition of what it is made of, for each place, and what its rows answer.

    ``row``: ⟨k…, a…⟩, what readers see: of the answers what is ``shown``, as elements over them. ``total``: every place
    has a row. It stands ``at`` a site of the view.
    """

    name: str
    definition: DictLit
    row: Record
    answers: tuple[Answer, ...]
    shown: tuple[tuple[str, Elem], ...]
    total: bool
    at: str = field(default="", eq=False)

    @property
    def answered(self) -> Record:
        """The answers as a row."""
        return Record(tuple((a.name, a.type) for a in self.answers))

    @property
    def added(self) -> tuple[Answer, ...]:
        """The answers that add up a product of values in which no other kind of fold looks."""
        others = {i for a in self.answers if a.fn not in folds.ADDED for i in a.args}
        return tuple(a for a in self.answers if a.fn in folds.ADDED and not others & {*a.args})

    @property
    def made_of(self) -> Hashable:
        """What is equal of what stands for the same, whatever its site and its parameters are called."""
        return made_of(self.definition), self.row, self.answers, self.shown, self.total

    @property
    def computed(self) -> frozenset[str]:
        """The parameters of its places that others tell: none of them does."""
        return frozenset()

    @property
    def of_nothing(self) -> tuple[tuple[str, Lit], ...]:
        """What is shown of nothing."""
        nothing = tuple((a.name, folds.answer(a.fn, (), a.type)) for a in self.answers)
        return tuple((name, self._shown(t, nothing)) for name, t in self.shown)

    def _shown(self, t: Elem, answers: Value) -> Lit:
        own = elem_type(t, {FOLDED: self.answered})
        assert isinstance(own, Base)
        return Lit(interpret.elem(t, {FOLDED: answers}), own)

    @property
    def folds(self) -> tuple[str, ...]:
        """Of each answer the fold, and what it is of, for people."""
        rows = chain(unique_binders(self.definition.body), KEY)
        values = rows.head.get(VALUES) if isinstance(rows.head, Tuple) else None
        texts = [show_elem(as_integers(as_written(t))) for _, t in values.fields] if isinstance(values, Tuple) else []
        args = [" · ".join(texts[i] for i in a.args) if texts else "…" for a in self.answers]
        return tuple(f"{a.fn}({text})" for a, text in zip(self.answers, args, strict=True))

    @property
    def shown_as(self) -> str:
        """The same of all answers; of a group that has none, its keys."""
        return ", ".join(self.folds) or f"the groups by {', '.join(self._keys)}"

    @property
    def shown_of(self) -> dict[str, Elem]:
        """What is shown, of variables that are called like the answers."""
        named = zip(self.answers, self.folds, strict=True)
        answers = Tuple(tuple((a.name, Var(text)) for a, text in named))
        return {name: simplify_elem(replace_elem(t, {FOLDED: answers})) for name, t in self.shown}

    @property
    def _keys(self) -> list[str]:
        rows = chain(unique_binders(self.definition.body), KEY)
        found = rows.head.get(KEY) if isinstance(rows.head, Tuple) else None
        return [show_elem(as_written(t)) for _, t in found.fields] if isinstance(found, Tuple) else [part(self.name)]

    @property
    def rule(self) -> str:
        """What is stored for the rows of its definition, as text."""
        answers = (f"{a.name}: {a.fn}({', '.join(map(str, a.args))}): {show_type(a.type)}" for a in self.answers)
        shown = (f"{name}: {show_elem(t)}" for name, t in self.shown)
        return f"folds {', '.join(answers)} to {', '.join(shown)}" + " for every place" * self.total

    @property
    def site(self) -> Site:
        """The places that there are rows for."""
        return self.definition.site

    @property
    def visible(self) -> Record:
        """⟨label, row: ⟨k…, f…⟩⟩"""
        return dict_row(self.row, self.name, self.site.params)

    @property
    def made(self) -> Record:
        """⟨label, row: ⟨k: ⟨…⟩, v: ⟨…⟩⟩⟩"""
        rows = dict_type(self.definition, {}, {}).row
        return dict_row(rows, self.name, self.site.params)

    @property
    def width(self) -> int:
        """How many values its rows have."""
        rows = dict_type(self.definition, {}, {}).row
        values = rows.get(VALUES) if isinstance(rows, Record) else None
        assert isinstance(values, Record)
        return len(values.fields)


@frozen
class Cutter:
    """Cuts the terms of one ``view``; ``found`` are the groups, inner ones first. Those that are ``repeated`` stand in
    several places, whose readers see all of them. One that is made of other things around it in another place is a
    group of its own there."""

    view: str
    names: Names
    repeated: frozenset[str] = frozenset()
    found: dict[str, Cut | Ranking] = field(factory=dict)
    _others: dict[str, list[str]] = field(factory=dict)
    _copies: dict[tuple[str, ...], str] = field(factory=dict)

    @classmethod
    def of(cls, view: str, terms: Sequence[Expr | DictExpr]) -> "Cutter":
        """For all ``terms`` of a view."""
        groups = [n for t in terms for n in nodes(t) if isinstance(n, Group | Top)]
        many, names = Counter(n.site for n in groups), Names(frozenset(n.site for n in groups))
        return cls(view, names, frozenset(site for site, n in many.items() if n > 1))

    def term(self, e: Expr) -> Expr:
        """A closed term without groups; they are the same in a term that is met again."""
        return simplify(self._expr(simplify(fuse(e)), Around())) if _has_groups(e) else e

    def definition(self, d: DictLit) -> DictLit:
        """A closed definition without groups."""
        if not _has_groups(d.body):
            return d
        cut = simplify_dict(self._opened(_literal(simplify_dict(fuse_dict(d)))))
        return _literal(cut)

    def _expr(self, e: Expr, around: Around) -> Expr:
        match e:
            case For(var, Group(keys=None), body) if var not in free_vars(body):
                return self._expr(body, around)
            case For(var, source, body):
                if (one := first_value(source, var)) is not None:
                    top, answer, value = one
                    inner, body = self._first(top, around), _with(body, answer, value)
                elif isinstance(source, Group) and not (is_extreme(source) or has_extremes(source)):
                    inner, body = self._read(var, source, body, around)
                else:
                    inner = self._expr(source, around)
                return For(var, inner, self._expr(body, around.where(var, around.row_of(inner))))
            case Let(name, bound, body):
                inner = self._expr(bound, around)
                return Let(name, inner, self._expr(body, around.let(name, inner)))
            case Top():
                return self._top(evolve(e, of=self._expr(e.of, around)), around)
            case Group() if is_extreme(e):
                return self._extreme(evolve(e, of=self._expr(e.of, around)), around)
            case Group() if has_extremes(e):
                types = {**around.pi, e.var: around.row_of(e.of)}
                return self._expr(split(e, types, self._copied), around)
            case Group():
                return self._group(evolve(e, of=self._expr(e.of, around)), _all(e), around)
            case _:
                return rebuild(e, lambda c: self._expr(c, around), lambda t: t, self._dictionary)

    def _copied(self, *of: str) -> str:
        """The site of what is made of a group, which is the same in a term that is met again."""
        if of not in self._copies:
            self._copies[of] = self.names.fresh(of[-1] if len(of) > 2 else ".".join(of))
        return self._copies[of]

    def _dictionary(self, d: DictExpr) -> DictExpr:
        if isinstance(d, DictLit):
            return self._opened(d)
        return rebuild_dict(d, lambda c: c, self._dictionary)

    def _opened(self, d: DictLit) -> DictLit:
        """Inside of a definition its parameters are variables: so a place is made of them, and not of their label."""
        taken = Names(frozenset(n.name for n in nodes(d.body) if isinstance(n, Var)) | _binders(d.body))
        names = {p: taken.fresh(p) for p, _ in d.site.params}
        types = {names[p]: t for p, t in d.site.params}
        body = self._expr(opened(d.body, d, {p: Var(name) for p, name in names.items()}), Around(types))
        return evolve(d, body=_closed(d, {name: p for p, name in names.items()}, body))

    def _read(self, var: str, g: Group, body: Expr, around: Around) -> tuple[Expr, Expr]:
        """α⟨Π⟩ and ``body``, which reads its rows."""
        inner = evolve(g, of=self._expr(g.of, around))
        row = around.row_of(inner)
        assert isinstance(row, Record)
        found = Pulled(_all(g), body) if g.site in self.repeated else pull(var, inner, row, body)
        return self._group(inner, found.answers, around), found.body

    def _group(self, g: Group, shown: tuple[tuple[str, Elem], ...], around: Around) -> Expr:
        """α⟨Π⟩"""
        rows = chain(g.of, g.var)
        args = [_factors(f, [rows.read(a, g.var) for a in f.args]) for f in g.folds]
        values = tuple(dict.fromkeys(a for own in args for a in own))
        keys = Tuple(tuple((n, rows.read(t, g.var)) for n, t in g.keys or ()))
        folded = zip(g.folds, args, strict=True)
        answers = tuple(Answer(f.name, f.fn, tuple(map(values.index, own)), f.type) for f, own in folded)
        types = {FOLDED: Record(tuple((a.name, a.type) for a in answers))}
        whole = around.row_of(g)
        assert isinstance(whole, Record)
        row = Record((*whole.fields[: len(g.keys or ())], *((n, elem_type(t, types)) for n, t in shown)))

        def make(site: str) -> tuple[InL, Cut]:
            name = f"{self.view}/G[{site}]"
            term, asked = rows.term(contribution(keys, values)), of_places(rows.conjuncts, rows.own, around.pi)
            label, definition = close(name, term, around.pi, around.lets, asked)
            return label, Cut(name, definition, row, answers, shown, g.keys is None, site)

        return self._read_at(g.site, make)


    def _top(self, t: Top, around: Around) -> Expr:
        """T⟨Π⟩"""
        return self._ranked(t, around.row_of(t), around, total=False)

    def _first(self, t: Top, around: Around) -> Expr:
        """T⟨Π⟩, which has a row of NULLs where there is none."""
        found = evolve(t, of=self._expr(t.of, around))
        return self._ranked(found, of_none(around.row_of(found)), around, total=True)

    def _extreme(self, g: Group, around: Around) -> Expr:
        """T⟨Π⟩ of the first of what is folded, or NULL"""
        return self._ranked(as_top(g), around.row_of(g), around, total=True)

    def _ranked(self, t: Top, row: Type, around: Around, total: bool) -> Expr:
        if (found := behind(t, around)) is not None:
            return found.beside(self._behind(found, row, total))
        if (ties := tied(t, around)) is not None:
            first, others = ties
            site = self._copied(t.site, "behind")
            before = self._ranked(evolve(first, site=site), around.row_of(first), around, total=False)
            t = evolve(t, of=Plus(For(t.var, before, Sng(Var(t.var))), others))
        rows, order, _ = ordered_rows(t)

        def make(site: str) -> tuple[InL, Ranking]:
            name, kept = f"{self.view}/T[{site}]", f"{self.view}/O[{site}]"
            label, definition = close(name, rows, around.pi, around.lets)
            return label, Ranking(name, kept, definition, definition.site, row, order, t.limit, total, site)

        return self._read_at(t.site, make)

    def _behind(self, b: Behind, row: Type, total: bool) -> Expr:
        """T⟨Π,v,c⟩"""
        rows, order, by = ordered_rows(b.rows, b.by)

        def make(site: str) -> tuple[InL, Ranking]:
            name, kept = f"{self.view}/T[{site}]", f"{self.view}/O[{site}]"
            label, definition = close(kept, rows, b.around.pi, b.around.lets)
            names = Names(frozenset(p for p, _ in label.args))
            edge = b.edge(names.fresh("edge"), names.fresh("until"), by)
            ends = () if edge.until is None or b.end is None else (((edge.until.param, b.end.type), b.end.value),)
            more = [*ends, *(((names.fresh(path_name(t)), elem_type(t, b.around.pi)), t) for t in b.told_by)]
            places = Site(name, (*definition.site.params, (edge.param, b.type), *(own for own, _ in more)))
            found = Ranking(name, kept, definition, places, row, order, b.rows.limit, total, site, edge)
            return InL(name, (*label.args, (edge.param, b.value), *((p, t) for (p, _), t in more))), found

        return self._read_at(b.rows.site, make)

    def _read_at(self, site: str, make: Callable[[str], tuple[InL, Cut | Ranking]]) -> Expr:
        """α⟨Π⟩ of what ``make`` makes at the ``site``, or at one beside it that has other parameters."""
        more = self._others.setdefault(site, [site])
        for own in more:
            label, made = make(own)
            known = self.found.setdefault(made.name, made)
            if known.made_of == made.made_of:
                break
            if own == more[-1]:
                more.append(self.names.fresh(site))
        params = known.site.params  # of a group those of its definition
        nothing = Tuple(known.of_nothing) if known.total else None
        args = tuple((p, t) for (p, _), (_, t) in zip(params, label.args, strict=True))
        rel = GroupRel(known.name, known.row, params=params, nothing=nothing, computed=known.computed)
        return Apply(rel, InL(known.name, args))


def _with(e: Expr, part: Elem, value: Elem) -> Expr:
    """``e`` with ``value`` wherever it has ``part``."""
    return rebuild(e, lambda c: _with(c, part, value), lambda t: replace_part(t, part, value), lambda d: d)


def _all(g: Group) -> tuple[tuple[str, Elem], ...]:
    """Every answer as it is."""
    return tuple((f.name, Proj(Var(FOLDED), f.name)) for f in g.folds)


def _factors(f: Fold, args: Sequence[Elem]) -> list[Elem]:
    """The ⊗-factors of what ``f`` adds: a product is multiplied where it is summed, where integers have no end, so that
    only the answer can overflow, and no row of it."""
    return [factor for a in args for factor in _product(a)] if f.fn in folds.FACTORED else [*args]


def _product(t: Elem) -> Iterator[Elem]:
    match t:
        case Call("mul_int" | "mul_long" | "mul_decimal", (a, b)):
            yield from _product(a)
            yield from _product(b)
        case _:
            yield t


def _literal(d: DictExpr) -> DictLit:
    assert isinstance(d, DictLit)
    return d


def _has_groups(e: Expr) -> bool:
    return any(isinstance(n, Group | Top) for n in nodes(e))


def _binders(e: Expr) -> frozenset[str]:
    return frozenset(n.var for n in nodes(e) if isinstance(n, For | Group | Top | DictLit))


def contribution(keys: Elem, values: Sequence[Elem]) -> Elem:
    """⟨k: keys, v: arguments⟩"""
    return Tuple(((KEY, keys), (VALUES, Tuple(tuple((f"a{i}", t) for i, t in enumerate(values))))))


def _closed(d: DictLit, params: Mapping[str, str], body: Expr) -> Expr:
    """``body``, which reads the parameters of ``d`` from its label again."""

    def elem(t: Elem) -> Elem:
        match t:
            case Var(name) if name in params:
                return OutL(Var(d.var), d.site, params[name])
            case _:
                return rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, lambda inner: inner)

    return expr(body)
