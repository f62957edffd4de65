"""Rules of maps and products as JSON: what of a plan another process is told, whose work it is to follow them.

Constants are written by their type (``nrc/serial.py``). A map is told without the products that build and maintain it.
"""

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from attrs import evolve, resolve_types
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from ripplenest.nrc.serial import read_constant, write_constant
from ripplenest.nrc.types import Base
from ripplenest.plan.answers import Answers
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Band, Col, Const, Edge, Key, Op, Product, Scalar, Source, Step
from ripplenest.plan.ranking import Ranked

Json = Any


def map_to_json(m: PlannedMap) -> Json:
    """Law: map_of_json(map_to_json(m)) is m without what builds and maintains it."""
    return CONVERTER.unstructure(evolve(m, build=(), triggers=(), trees=(), once=(), ways={}))


def map_of_json(found: Json) -> PlannedMap:
    m: PlannedMap = CONVERTER.structure(found, PlannedMap)
    return m


def product_to_json(p: Product) -> Json:
    """Law: product_of_json(product_to_json(p)) = p."""
    return CONVERTER.unstructure(p)


def product_of_json(found: Json) -> Product:
    p: Product = CONVERTER.structure(found, Product)
    return p


def _converter() -> Converter:
    found = Converter(unstruct_collection_overrides={tuple: list})
    for cls in (PlannedMap, Folding, Ranked, Product, Source, Step, Key, Band, Edge, Col, Op):
        resolve_types(cls)
    found.register_unstructure_hook(Scalar, lambda scalar: _told(found, scalar))
    found.register_structure_hook(Scalar, lambda raw, _: _heard(found, *raw))
    for rule in (Folding, Ranked):
        found.register_unstructure_hook(rule, _telling(found, rule))
        found.register_structure_hook(rule, _hearing(found, rule))
    return found


def _told(converter: Converter, scalar: Scalar) -> Json:
    """The kind of a scalar, and what makes it."""
    t = converter.unstructure(scalar.type)
    match scalar:
        case Col(source, column, _):
            return ["col", t, source, column]
        case Const(value, of):
            return ["const", t, write_constant(value, of)]
        case Op(fn, args, _):
            return ["op", t, fn, *(_told(converter, a) for a in args)]
        case _:
            assert_never(scalar)


def _heard(converter: Converter, kind: str, base: Json, first: Any, *more: Any) -> Scalar:
    t = converter.structure(base, Base)
    if kind == "op":
        return Op(first, tuple(_heard(converter, *a) for a in more), t)
    if kind == "const":
        return Const(read_constant(first, t), t)
    (column,) = more
    return Col(first, column, t)


def _telling(converter: Converter, rule: type[Answers]) -> Callable[[Answers], Json]:
    """What is seen of nothing is constants of the types that are seen."""
    plain = make_dict_unstructure_fn(rule, converter)

    def tell(a: Answers) -> Json:
        seen = None if a.nothing is None else [write_constant(v, t) for v, t in _nothing(a, a.nothing)]
        return {**plain(a), "nothing": seen}

    return tell


def _hearing(converter: Converter, rule: type[Answers]) -> Callable[[Json, Any], Answers]:
    plain = make_dict_structure_fn(rule, converter)

    def hear(raw: Json, _: Any) -> Answers:
        found: Any = plain({**raw, "nothing": None}, rule)
        if raw["nothing"] is not None:
            found = evolve(found, nothing=tuple(read_constant(v, t) for v, t in _nothing(found, raw["nothing"])))
        heard: Answers = found
        return heard

    return hear


def _nothing(a: Answers, values: Iterable[Any]) -> Iterable[tuple[Any, Base]]:
    return zip(values, a.visible[a.keys :], strict=True)


CONVERTER = _converter()
