"""Groups that are made of the same rows are one map, with the folds and the answers of all.

    α₁ = γ(e; k; f₁), α₂ = γ(e; k; f₂)  ⟶  α = γ(e; k; f₁ ∪ f₂), and who read α₂⟨Π⟩ reads α⟨Π⟩

Two definitions are the same if they differ only in the names of variables, parameters and sites, and in what is folded.
So a total that a view writes twice, or that sank into an inner bag, is kept once. So are first rows, and the rows that
several of them are the first of, by other orders. It must be one that is kept for every place: what has a domain is
asked for by others each time, and may have no value where nobody asks. First rows behind edges have one wherever they
are asked for, and can be one map as well, ``edges``, where none is asked for at what another one answers.

Law (alike): a view has the same rows either way.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from ripplenest.delta.chain import Chain, chain, read
from ripplenest.delta.groups.pull import FOLDED
from ripplenest.delta.groups.ranking import Ranking
from ripplenest.delta.groups.strata import KEY, VALUES, Answer, Cut, contribution
from ripplenest.nrc.rewriting.simplify import simplify, simplify_dict
from ripplenest.nrc.syntax import (
    Apply,
    DictExpr,
    DictLit,
    Elem,
    Expr,
    For,
    GroupRel,
    InL,
    OutL,
    Proj,
    Sng,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Record
from ripplenest.nrc.walk import Names, nodes, rebuild, rebuild_dict, rebuild_elem, replace, unique_binders
from ripplenest.shred.close import made_of, opened_elem

SELF = "s"


@frozen
class _Kept:
    """Where the answers of a group are: in the map ``name``, by their own names; first rows are there as they are."""

    name: str
    columns: Mapping[str, str] | None


@frozen
class Alike:
    """The groups of a view, each ``kept`` once, and by group ``where`` its answers are; those ``everywhere`` have no
    domain."""

    everywhere: frozenset[str]
    edges: bool = True
    kept: dict[str, Cut | Ranking] = field(factory=dict)
    where: dict[str, _Kept] = field(factory=dict)
    _known: dict[Hashable, str] = field(factory=dict)
    _rows: dict[Hashable, Ranking] = field(factory=dict)

    def add(self, cuts: Iterable[Cut | Ranking]) -> None:
        """Groups, inner ones first."""
        for cut in cuts:
            if isinstance(cut, Cut):
                self._add(evolve(cut, definition=self._inner(cut.definition)))
            else:
                self._rank(evolve(cut, definition=self._inner(cut.definition)))

    def _add(self, own: Cut) -> None:
        name = self._known.setdefault(_made_of(own) if own.name in self.everywhere else own.name, own.name)
        columns = {n: n for n, _ in own.row.fields}
        if name == own.name:
            self.kept[name] = own
        else:
            known = self.kept[name]
            assert isinstance(known, Cut)
            self.kept[name], shown = _together(known, own)
            columns |= shown
        self.where[own.name] = _Kept(name, columns)

    def _rank(self, own: Ranking) -> None:
        if own.name in self.everywhere:
            rows = made_of(_simple(own.definition))  # which may read what others are kept in, in other words
            is_one = own.edge is None or self.edges
            name = self._known.setdefault((rows, own.ordered), own.name) if is_one else own.name
            other = self._rows.setdefault(rows, own)
            own = evolve(own, kept=other.kept, definition=other.definition)
        else:
            name = own.name
        self.kept.setdefault(name, own)
        self.where[own.name] = _Kept(name, None)

    def term(self, e: Expr) -> Expr:
        """A term that reads the maps that are kept."""
        return simplify(self._expr(unique_binders(e))) if self._is_moved(e) else e

    def definition(self, d: DictLit) -> DictLit:
        """The same of a closed definition."""
        if not self._is_moved(d):
            return d
        return _simple(evolve(d, body=self._expr(unique_binders(d.body))))

    @property
    def cuts(self) -> tuple[Cut | Ranking, ...]:
        """The groups that are kept, which read each other as they are kept, inner ones first."""
        return tuple(evolve(c, definition=self._inner(c.definition)) for c in self.kept.values())

    def _inner(self, d: DictLit) -> DictLit:
        """A definition whose body stays a chain."""
        return evolve(d, body=self._expr(unique_binders(d.body))) if self._is_moved(d) else d

    def _is_moved(self, term: Expr | DictExpr) -> bool:
        """Whether it reads a group whose rows have become others."""
        return any(isinstance(n, GroupRel) and self._rel(n) != n for n in nodes(term))

    def _rel(self, rel: GroupRel) -> GroupRel:
        where = self.where.get(rel.name)
        if where is None:
            return rel
        cut = self.kept[where.name]
        nothing = Tuple(cut.of_nothing) if cut.total else None
        return evolve(rel, name=cut.name, row=cut.row, params=cut.site.params, nothing=nothing, computed=cut.computed)

    def _expr(self, e: Expr) -> Expr:
        match e:
            case For(var, Apply(GroupRel() as rel, label), body) if rel.name in self.where:
                below = replace(self._expr(body), {var: self._row(rel, var)})
                return For(var, self._apply(rel, label), below)
            case Apply(GroupRel() as rel, label) if rel.name in self.where:
                return For(SELF, self._apply(rel, label), Sng(self._row(rel, SELF)))
            case _:
                return rebuild(e, self._expr, lambda t: t, self._dict)

    def _dict(self, d: DictExpr) -> DictExpr:
        return rebuild_dict(d, self._expr, self._dict)

    def _apply(self, rel: GroupRel, label: Elem) -> Expr:
        found = self._rel(rel)
        assert isinstance(label, InL)
        args = tuple((p, t) for (p, _), (_, t) in zip(found.params, label.args, strict=True))
        return Apply(found, InL(found.name, args))

    def _row(self, rel: GroupRel, var: str) -> Elem:
        """A row of ``rel``, of one of the map that has its answers."""
        columns = self.where[rel.name].columns
        if columns is None:
            return Var(var)
        assert isinstance(rel.row, Record)
        # Columns that came to the map since it was read here are called what they are.
        return Tuple(tuple((n, Proj(Var(var), columns.get(n, n))) for n in rel.row.names))


def _simple(d: DictLit) -> DictLit:
    found = simplify_dict(d)
    assert isinstance(found, DictLit)
    return found


def _made_of(cut: Cut) -> Hashable:
    """What of a group is equal when it is made of the same rows: by name only, of one whose definition is no chain."""
    rows = _chain(cut.definition)
    if not isinstance(rows.head, Tuple) or rows.head.get(KEY) is None:
        return cut.name
    keys = rows.head.get(KEY)
    assert keys is not None
    return made_of(cut.definition, rows.term(keys)), cut.total


def _chain(d: DictLit) -> Chain:
    return chain(unique_binders(d.body), SELF)


def _together(a: Cut, b: Cut) -> tuple[Cut, dict[str, str]]:
    """One group with the folds of both, made of the same rows; and by name of what ``b`` shows, its column."""
    rows, values = _chain(a.definition), list(_values(a.definition))
    args = [_place(t, values) for t in _moved(b.definition, a.definition, rows)]
    answers, folded = _joined(a.answers, [evolve(f, args=tuple(args[i] for i in f.args)) for f in b.answers])
    shown, columns = _shown(a, b, folded)
    definition = evolve(a.definition, body=rows.term(contribution(_head(rows, KEY), values)))
    found = evolve(a, definition=definition, answers=answers, shown=shown)
    types = {FOLDED: found.answered}
    keys = a.row.fields[: len(a.row.fields) - len(a.shown)]
    return evolve(found, row=Record((*keys, *((n, elem_type(t, types)) for n, t in shown)))), columns


def _moved(d: DictLit, to: DictLit, rows: Chain) -> list[Elem]:
    """The values of ``d`` over the variables of ``rows``, the chain of ``to``."""
    own = _chain(d)
    variables = zip(own.generators, rows.generators, strict=True)
    env: dict[str, Elem] = {var: Var(other) for (var, _), (other, _) in variables}
    pairs = zip(d.site.params, to.site.params, strict=True)
    params = {p: OutL(Var(to.var), to.site, other) for (p, _), (other, _) in pairs}
    return [read(opened_elem(t, d, params), env) for t in _fields(_head(own, VALUES))]


def _values(d: DictLit) -> Sequence[Elem]:
    return _fields(_head(_chain(d), VALUES))


def _head(rows: Chain, name: str) -> Elem:
    found = rows.head.get(name) if isinstance(rows.head, Tuple) else None
    assert found is not None
    return found


def _fields(t: Elem) -> tuple[Elem, ...]:
    assert isinstance(t, Tuple)
    return tuple(inner for _, inner in t.fields)


def _place(t: Elem, values: list[Elem]) -> int:
    if t not in values:
        values.append(t)
    return values.index(t)


def _joined(old: tuple[Answer, ...], new: Iterable[Answer]) -> tuple[tuple[Answer, ...], dict[str, str]]:
    """All answers, each once; and by name of the new ones, which it is."""
    found, names = list(old), Names(frozenset(a.name for a in old))
    where = {}
    for a in new:
        same = next((known for known in found if evolve(known, name=a.name) == a), None)
        if same is None:
            same = evolve(a, name=names.fresh(a.name))
            found.append(same)
        where[a.name] = same.name
    return tuple(found), where


def _shown(a: Cut, b: Cut, folded: Mapping[str, str]) -> tuple[tuple[tuple[str, Elem], ...], dict[str, str]]:
    """What both show, each once; and by name of what ``b`` shows, which it is."""

    def renamed(t: Elem) -> Elem:
        if isinstance(t, Proj) and t.of == Var(FOLDED):
            return Proj(t.of, folded[t.field])
        return rebuild_elem(t, renamed)

    found, names = list(a.shown), Names(frozenset(a.row.names))
    own_keys = len(a.row.fields) - len(a.shown)
    where = dict(zip(b.row.names[:own_keys], a.row.names[:own_keys], strict=True))
    for name, t in b.shown:
        wanted = renamed(t)
        same = next((n for n, known in found if known == wanted), None)
        if same is None:
            same = names.fresh(name)
            found.append((same, wanted))
        where[name] = same
    return tuple(found), where
