"""Comprehensions to products: records and labels become columns, variables become sources.

In which order a product reads its sources, and by which keys, is decided on the comprehension
(``nrc/rewriting/access.py``), and said in columns here.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import assert_never

from attrs import frozen

from ripplenest.data.columns import base_types
from ripplenest.data.labels import SITE, Filled, Named, SiteColumns, is_tagged, site_columns, width
from ripplenest.nrc.functions.folds import kept_sum
from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.rewriting.access import Join, Read, joins
from ripplenest.nrc.rewriting.bands import Bound
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Call, Elem, InL, IsSite, Lit, OutL, Proj, Tuple, Var
from ripplenest.nrc.types import BOOL, Bag, Base, Dict, Label, Record, Site, Type, nullable
from ripplenest.plan.edges import compared
from ripplenest.plan.product import Band, Col, Const, Edge, Key, Op, Product, Scalar, Source, Step


@frozen
class RecordOf:
    fields: tuple[tuple[str, "Lowered"], ...]


@frozen
class LabelOf:
    """A label of ``type`` as the scalars of its columns."""

    type: Label
    leaves: tuple[Scalar, ...]


Lowered = Scalar | RecordOf | LabelOf


def lower(c: Comprehension, row: Type, whole: bool = False) -> tuple[Product, ...]:
    """The products of one comprehension, whose rows have the columns of ``row``; none when it has no rows. ``whole``:
    for a build, where nothing changes.

    A disjunction of equalities becomes several products that never overlap (``nrc/rewriting/disjoint.py``).
    """
    return tuple(p for join in joins(c) if (p := _product(join, row, whole)) is not None)


def lower_all(cs: Sequence[Comprehension], row: Type, whole: bool = False) -> tuple[Product, ...]:
    return tuple(p for c in cs for p in lower(c, row, whole))


def over_row(t: Elem, var: str, row: Type) -> Scalar:
    """An element of base type over a row ``var``, whose columns are those of source 0."""
    return _scalar(_elem(t, {var: _table(0, row)}))


def _product(join: Join, row: Type, whole: bool) -> Product | None:
    """One join as a product; None when a condition is true of no row by the types alone."""
    c = join.product
    place = {var: i for i, (var, _) in enumerate(c.generators)}
    env = {var: _table(place[var], rel.row) for var, rel in c.generators}
    lowered = {t: _scalar(_elem(t, env)) for t in c.conditions}
    if any(isinstance(s, Const) and s.value is not True for s in lowered.values()):
        return None
    kept = {t: s for t, s in lowered.items() if not isinstance(s, Const)}
    also = (*(e.condition for e in join.implied), *(b.condition for b in join.bounds))
    asked = {**{t: _scalar(_elem(t, env)) for t in also}, **kept}
    first, *others = (tuple(_step(r, place, asked, env) for r in order) for order in join.orders(whole))
    return Product(
        tuple(Source(rel.name, rel.at, base_types(rel.row)) for _, rel in c.generators),
        tuple(kept[t] for t in c.conditions if t in kept),
        _leaves(_elem(c.head, env), row),
        c.weight,
        first,
        tuple(_step(r, place, asked, env) for r in join.reads(cautious=True)),
        tuple(kept[t] for t in join.partial if t in kept),
        tuple(_scalar(_elem(t, env)) for t in c.times),
        tuple(others),
    )


def _step(r: Read, place: Mapping[str, int], lowered: Mapping[Elem, Scalar], env: Mapping[str, Lowered]) -> Step:
    source, via = place[r.var], tuple(place[v] for v in r.via)
    keys = sorted((_key(lowered[e.condition], source) for e in r.keys), key=lambda k: k.column)
    ready, guarded = (tuple(lowered[t] for t in ts if t in lowered) for ts in (r.ready, r.guarded))
    if r.place is not None:
        asked = _leaves(_elem(r.place, env), _label_type(r.rel.row))
        return Step(source, tuple(Key(i, s, True) for i, s in enumerate(asked)), (), ready, guarded, True)
    own = _band(r.band, source, lowered) if r.band else None
    others = tuple(_band(way, source, lowered) for way in r.ways[1:])
    return Step(source, tuple(keys), via, ready, guarded, band=own, is_ranged=bool(r.edges), beside=others)


def _label_type(row: Type) -> Type:
    assert isinstance(row, Record)
    return dict(row.fields)["label"]


def _key(equality: Scalar, source: int) -> Key:
    """The side of an equality that reads ``source`` is a column, to be looked up by the other side."""
    fn, column, other = _compared(equality, source)
    return Key(column, other, fn == "same")


def _band(bounds: Sequence[Bound], source: int, lowered: Mapping[Elem, Scalar]) -> Band:
    found = {b.upper: Edge(*_compared(lowered[b.condition], source)[1:]) for b in bounds}
    return Band(found.get(True), found.get(False))


def _compared(condition: Scalar, source: int) -> tuple[str, int, Scalar]:
    found = compared(condition, source)
    assert found is not None
    return found


# ---------------------------------------------------------------- elements


def _elem(t: Elem, env: Mapping[str, Lowered]) -> Lowered:
    match t:
        case Var(name):
            return env[name]
        case Proj(of, name):
            record = _elem(of, env)
            assert isinstance(record, RecordOf)
            return dict(record.fields)[name]
        case Lit(value, base):
            return Const(value, nullable_base(base) if value is None else base)
        case Call(fn, args):
            found = [_elem(a, env) for a in args]
            if fn == "is_null" and isinstance(found[0], LabelOf):
                return _is_null(found[0])
            scalars = tuple(map(_scalar, found))
            return Op(fn, scalars, result_type(fn, [s.type for s in scalars]))
        case Tuple(fields):
            return RecordOf(tuple((n, _elem(a, env)) for n, a in fields))
        case InL(site, args):
            return _make_label(site, [(n, _elem(a, env)) for n, a in args])
        case OutL(label, site, param):
            return _read_label(_label(_elem(label, env)), site, param)
        case IsSite(label, site):
            return _is_site(_label(_elem(label, env)), site)
        case _:
            assert_never(t)


def _make_label(site: str, args: list[tuple[str, Lowered]]) -> LabelOf:
    params = tuple((n, _type(a)) for n, a in args)
    leaves = tuple(leaf for (_, a), (_, t) in zip(args, params, strict=True) for leaf in _leaves(a, t))
    return LabelOf(Label((Site(site, params),)), leaves)


def _read_label(label: LabelOf, site: Site, param: str) -> Lowered:
    own = _columns_of(label, site.name)
    if own is None:
        return _view(_nulls(dict(site.params)[param]), dict(site.params)[param])
    start = own.params.start
    for name, t in own.site.params:
        if name == param:
            return _view(label.leaves[start : start + width(t)], t)
        start += width(t)
    raise AssertionError(f"the site {site} has no parameter {param}")


def _is_site(label: LabelOf, site: str) -> Scalar:
    """Whether the label was made at ``site``: never NULL, false for a NULL label."""
    own = _columns_of(label, site)
    if own is None:
        return Const(False, BOOL)
    match own.mark:
        case None:
            return Const(True, BOOL)
        case Named(column, name):
            return Op("same", (label.leaves[column], Const(name, SITE)), BOOL)
        case Filled(column):
            return Op("not", (Op("is_null", (label.leaves[column],), BOOL),), BOOL)
        case _:
            assert_never(own.mark)


def _is_null(label: LabelOf) -> Scalar:
    """Whether the label was made nowhere."""
    made = [_is_site(label, s.site.name) for s in site_columns(label.type)]
    if any(isinstance(s, Const) and s.value is True for s in made):
        return Const(False, BOOL)
    return Op("not", (reduce(lambda a, b: Op("or", (a, b), BOOL), made),), BOOL) if made else Const(True, BOOL)


def _columns_of(label: LabelOf, site: str) -> SiteColumns | None:
    return next((s for s in site_columns(label.type) if s.site.name == site), None)


# ---------------------------------------------------------------- columns


def _table(source: int, row: Type) -> Lowered:
    return _view(tuple(Col(source, i, t) for i, t in enumerate(base_types(row))), row)


def _view(leaves: Sequence[Scalar], t: Type) -> Lowered:
    """The value of type ``t`` that ``leaves`` are the columns of."""
    match t:
        case Base():
            return leaves[0]
        case Record(fields):
            out, start = [], 0
            for name, inner in fields:
                out.append((name, _view(leaves[start : start + width(inner)], inner)))
                start += width(inner)
            return RecordOf(tuple(out))
        case Label():
            return LabelOf(t, tuple(leaves))
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _leaves(value: Lowered, t: Type) -> tuple[Scalar, ...]:
    """The columns of ``value`` in the storage of type ``t``, which may allow more sites and NULLs, and hold sums."""
    match t:
        case Base():
            return (_as(_scalar(value), t),)
        case Record(fields):
            assert isinstance(value, RecordOf)
            own = dict(value.fields)
            return tuple(leaf for name, inner in fields for leaf in _leaves(own[name], inner))
        case Label():
            return _widen(_label(value), t)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _as(s: Scalar, t: Base) -> Scalar:
    """A number among sums of such numbers."""
    return Op("to_decimal", (s,), t) if t == kept_sum(s.type) and s.type.precision != t.precision else s


def _widen(label: LabelOf, t: Label) -> tuple[Scalar, ...]:
    tag: tuple[Scalar, ...] = (_tag(label),) if is_tagged(t) else ()
    return (*tag, *(leaf for site in t.sites for leaf in _site_columns(label, site)))


def _tag(label: LabelOf) -> Scalar:
    """The tag of the label where more sites are possible."""
    first = next(site_columns(label.type), None)
    if first is None:
        return Const(None, SITE)
    name = Const(first.site.name, SITE)
    match first.mark:
        case None:
            return name
        case Named(column):
            return label.leaves[column]
        case Filled(column):
            return Op("if", (Op("is_null", (label.leaves[column],), BOOL), Const(None, SITE), name), SITE)
        case _:
            assert_never(first.mark)


def _site_columns(label: LabelOf, site: Site) -> tuple[Scalar, ...]:
    return tuple(leaf for name, t in site.params for leaf in _leaves(_read_label(label, site, name), t))


def _nulls(t: Type) -> tuple[Scalar, ...]:
    return tuple(Const(None, nullable_base(b)) for b in base_types(t))


def _type(value: Lowered) -> Type:
    match value:
        case Col() | Const() | Op():
            return value.type
        case RecordOf(fields):
            return Record(tuple((n, _type(f)) for n, f in fields))
        case LabelOf(t):
            return t
        case _:
            assert_never(value)


def _scalar(value: Lowered) -> Scalar:
    assert isinstance(value, Col | Const | Op)
    return value


def _label(value: Lowered) -> LabelOf:
    assert isinstance(value, LabelOf)
    return value


def nullable_base(b: Base) -> Base:
    t = nullable(b)
    assert isinstance(t, Base)
    return t
