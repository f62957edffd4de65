"""Groups that views share: one that is made of relations, and of other such groups, is called by what it is.

A view's own maps have its name. A group whose rows do not depend on the view is a map of all views that have an equal
one, ``G/`` and a digest of its definition (``O/``, ``T/`` of rows in order and the first of them), as auxiliary maps
are (``delta/factor.py``). It must be kept for every place, as what has a domain is asked for by its view, and know no
labels of the view. Equal digests are equal rows: all that decides what is stored is in them, and nothing else, so no
name of a view, a variable or a field. Fields are numbered, so that a view stays as it is when a field is renamed.

Turns are canonical (``delta/program.py``): maps that pass on are in one order in every program that has them.

Law (shared): views that share groups have the rows that each has alone.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from ripplenest.delta.groups.pull import FOLDED
from ripplenest.delta.groups.ranking import RANKED, Ranking
from ripplenest.delta.groups.strata import Cut
from ripplenest.delta.texts import Text
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import (
    DictExpr,
    DictLit,
    Elem,
    Expr,
    GroupRel,
    InL,
    IsSite,
    OutL,
)
from ripplenest.nrc.typecheck import dict_type
from ripplenest.nrc.types import Site
from ripplenest.nrc.walk import nodes, rebuild, rebuild_dict, rebuild_elem
from ripplenest.shred.sites import KeptDictionary

OWN = "="  # the site of the places of a group, in its own text


@frozen
class Shared:
    """The groups of a view that are no view's own: by the name that each has in the view, what all call it."""

    names: Mapping[str, str]

    def term(self, e: Expr) -> Expr:
        """A term of the view, which reads the maps that are shared."""
        return rebuild(e, self.term, self.elem, self._dict) if self.names else e

    def definition(self, d: DictLit) -> DictLit:
        """The same of a closed definition."""
        return DictLit(self._site(d.site), d.var, self.term(d.body))

    def cut(self, c: Cut | Ranking) -> Cut | Ranking:
        """A group that reads the maps that are shared, and may be one."""
        name, definition = self._name(c.name), self.definition(c.definition)
        if isinstance(c, Cut):
            return evolve(c, name=name, definition=definition)
        return evolve(c, name=name, kept=self._name(c.kept), definition=definition, site=self._site(c.site))

    def _name(self, name: str) -> str:
        return self.names.get(name, name)

    def _site(self, site: Site) -> Site:
        return evolve(site, name=self._name(site.name))

    def elem(self, t: Elem) -> Elem:
        match rebuild_elem(t, self.elem):
            case InL(site, args):
                return InL(self._name(site), args)
            case OutL(label, site, param):
                return OutL(label, self._site(site), param)
            case IsSite(label, name):
                return IsSite(label, self._name(name))
            case other:
                return other

    def _dict(self, d: DictExpr) -> DictExpr:
        if isinstance(d, GroupRel):
            return evolve(d, name=self._name(d.name))
        return self.definition(d) if isinstance(d, DictLit) else rebuild_dict(d, self.term, self._dict)


def shared(cuts: Sequence[Cut | Ranking], kept: Mapping[str, KeptDictionary], parts: Collection[str]) -> Shared:
    """Those of ``cuts``, inner ones first, that views can share; by site how each is ``kept``."""
    found = Shared({})
    for c in cuts:
        site = c.definition.site.name
        if not kept[site].domain and _is_of(kept[site].products, {*parts, *found.names, site}):
            text = Text({**{part: part for part in parts}, **found.names, site: OWN})
            names = _called(c, text, kept[site].products)
            if all(found.names.get(name) == made or made not in found.names.values() for name, made in names.items()):
                found = Shared({**found.names, **names})
    return found


def _is_of(products: Sequence[Comprehension], known: Collection[str]) -> bool:
    """Whether ``products`` read and make nothing else than what is ``known``."""
    read = {rel.name for c in products for _, rel in c.generators}
    terms = (t for c in products for t in (c.head, *c.conditions, *c.times))
    return read | {site for t in terms for node in nodes(t) for site in _sites(node)} <= {*known}


def _sites(node: object) -> Iterator[str]:
    match node:
        case InL(site) | IsSite(_, site):
            yield site
        case OutL(_, site):
            yield site.name


def _called(c: Cut | Ranking, text: Text, products: Sequence[Comprehension]) -> dict[str, str]:
    """What views call the maps of ``c``."""
    rows = sorted(map(text.product, products))
    if isinstance(c, Cut):
        answers = [(a.fn, a.args, repr(a.type)) for a in c.answers]
        shown = [text.elem(t, {FOLDED: c.answered}, {FOLDED: 0}) for _, t in c.shown]
        return {c.name: _digest("G", rows, text.type(c.made), text.type(c.visible), answers, shown, c.total)}
    every = _digest("O", rows, text.type(c.kept_rows))
    if c.edge is not None:  # of the places that the view asks for
        return {c.kept: every}
    row = {RANKED: dict_type(c.definition, {}, {}).row}
    order = [(text.elem(o.by, row, {RANKED: 0}), o.descending, o.nulls_first) for o in c.order]
    return {c.kept: every, c.name: _digest("T", every, order, c.limit, c.total, text.type(c.row))}


def _digest(kind: str, *of: object) -> str:
    return f"{kind}/{hashlib.sha256(repr(of).encode()).hexdigest()[:16]}"
