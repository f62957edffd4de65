"""What a text does not say: the types of relations, stored dictionaries, label sites and free variables."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from attrs import evolve, field, frozen

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.syntax import DictEmpty, DictLit, DictRel, Empty, InL, OutL, Rel, Term
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Site, Type
from ripplenest.nrc.walk import nodes

Types = Mapping[str, Type]
T = TypeVar("T")


@frozen
class Environment:
    """``relations`` and ``dictionaries``: the rows of stored parts by name. ``sites``: the places that make labels.

    ``parameters``: the names of the values that a label of a site is made of. ``gamma`` and ``pi``: the bags that free
    let-variables are, and the types of free for-variables. ``changes``: whether ΔR and R⁺ may be read.
    """

    relations: Types = field(factory=dict)
    dictionaries: Types = field(factory=dict)
    sites: Mapping[str, Site] = field(factory=dict)
    parameters: Mapping[str, tuple[str, ...]] = field(factory=dict)
    gamma: Mapping[str, Bag] = field(factory=dict)
    pi: Types = field(factory=dict)
    changes: bool = True

    def with_free(self, gamma: Mapping[str, Bag] | None = None, pi: Types | None = None) -> "Environment":
        """The same, where these variables are free."""
        return evolve(self, gamma={**self.gamma, **(gamma or {})}, pi={**self.pi, **(pi or {})})


def environment_of(*terms: Term) -> Environment:
    """The environment in which the text of each of ``terms`` is read back as that term, free variables excepted.

    Raises TypeMismatch when two leaves give one name two types: such a term has no text.
    """
    relations: dict[str, Type] = {}
    dictionaries: dict[str, Type] = {}
    sites: dict[str, Site] = {}
    parameters: dict[str, tuple[str, ...]] = {}
    for node in (n for term in terms for n in nodes(term)):
        match node:
            case Rel(name, row):
                _add(relations, name, row)
            case DictRel(name, row):
                _add(dictionaries, name, row)
            case InL(site, args):
                parameters[site] = tuple(n for n, _ in args)
            case _:
                pass
        for site_of in _sites(node):
            _add(sites, site_of.name, site_of)
    parameters |= {name: tuple(n for n, _ in s.params) for name, s in sites.items()}
    return Environment(relations, dictionaries, sites, parameters)


def _add(known: dict[str, T], name: str, found: T) -> None:
    if known.setdefault(name, found) != found:
        raise TypeMismatch(f"{name} has two types in one term", wanted=known[name], got=found)


def _sites(node: Term) -> Iterator[Site]:
    match node:
        case OutL(_, site, _) | DictLit(site, _, _):
            yield from _labels(Label((site,)))
        case Rel(_, row) | Empty(row) | DictEmpty(row):
            yield from _labels(row)
        case DictRel(_, row):
            yield node.site
            yield from _labels(row)
        case _:
            return


def _labels(t: Type) -> Iterator[Site]:
    match t:
        case Record(fields):
            for _, f in fields:
                yield from _labels(f)
        case Bag(row) | Dict(row):
            yield from _labels(row)
        case Label(sites):
            for site in sites:
                yield site
                yield from _labels(Record(site.params))
        case Base():
            return
