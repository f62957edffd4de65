"""Trees to dictionaries, and their application to labels: what only shredded terms have."""

from collections.abc import Callable, Sequence

from lark import Token, Tree

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.printing.pretty import LABEL
from ripplenest.nrc.surface.readings import BagTerm, Element
from ripplenest.nrc.surface.text.advice import unknown
from ripplenest.nrc.surface.text.elements import parameter_type
from ripplenest.nrc.surface.text.kinds import read_type, site, subtrees
from ripplenest.nrc.surface.text.scope import Scope, part_name, spelled
from ripplenest.nrc.surface.text.trees import Node
from ripplenest.nrc.syntax import (
    Apply,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    OutL,
    Var,
)
from ripplenest.nrc.types import NUMBERED, Bag, Dict, Label, Site, join

ReadBag = Callable[[Node, Scope], BagTerm]


def apply(node: Node, label: Element, scope: Scope, read_bag: ReadBag) -> BagTerm:
    """d(l)"""
    d, type_ = read_dict(node, scope, read_bag)
    if not isinstance(label.type, Label):
        raise TypeMismatch("a dictionary is applied to a label", wanted="𝕃", got=label.type)
    return BagTerm(Apply(d, label.elem), Bag(type_.row))


def read_dict(node: Node, scope: Scope, read_bag: ReadBag) -> tuple[DictExpr, Dict]:
    """The dictionary that ``node`` is, and its type. ``read_bag`` reads the bodies of definitions."""
    with scope.at(node):
        match node.data:
            case "name" | "new" | "change":
                return _stored(node, scope)
            case "dictionary":
                return _definition(node, scope, read_bag)
            case "infix":
                return _infix(node, scope, read_bag)
            case "empty":
                found = read_type(subtrees(node)[0], scope.text, scope.env, scope.session)
                if isinstance(found, Dict):
                    return DictEmpty(found.row), found
        raise TypeMismatch("this must be a dictionary or a function", possible=sorted(scope.env.dictionaries))


def _stored(node: Node, scope: Scope) -> tuple[DictRel, Dict]:
    part = part_name(node)
    if part.name not in scope.env.dictionaries:
        raise unknown(f"there is no dictionary {part.name!r}", part.name, sorted(scope.env.dictionaries))
    row = scope.env.dictionaries[part.name]
    site = scope.env.sites.get(part.name)
    return DictRel(part.name, row, part.at, part.order, site.params if site else NUMBERED), Dict(row)


def _infix(node: Node, scope: Scope, read_bag: ReadBag) -> tuple[DictExpr, Dict]:
    glyph = next(c for c in node.children if isinstance(c, Token))
    (a, left), (b, right) = (read_dict(c, scope, read_bag) for c in subtrees(node))
    both = join(left, right)
    if not isinstance(both, Dict):
        raise TypeMismatch("dictionaries of different rows", wanted=left, got=right)
    if glyph.type not in ("BAG_PLUS", "LABEL_UNION"):
        raise TypeMismatch("no operator of dictionaries", got=str(glyph), possible=["⊎", "∪"])
    return (DictPlus(a, b) if glyph.type == "BAG_PLUS" else DictUnion(a, b)), both


def _definition(node: Node, scope: Scope, read_bag: ReadBag) -> tuple[DictLit, Dict]:
    """[(ι; p, …) ↦ e]: p stands for the parameter of the label at its place."""
    head, body = subtrees(node)
    label, site_node, keys = head.children
    assert isinstance(site_node, Tree)
    found = site(spelled(subtrees(site_node)[0]), scope.env)
    var = spelled(label) if isinstance(label, Tree) else LABEL
    names = [spelled(n) for n in subtrees(keys)] if isinstance(keys, Tree) else []
    bag = read_bag(body, scope.bind(_parameters(var, found, names)))
    return DictLit(found, var, bag.expr), Dict(bag.type.row)


def _parameters(var: str, site: Site, names: Sequence[str]) -> dict[str, Element]:
    if len(names) != len(site.params):
        wanted = f"({', '.join(p for p, _ in site.params)})"
        raise TypeMismatch(f"a label of {site.name} has other values", wanted=wanted, got=f"({', '.join(names)})")
    label = Label((site,))
    found = {var: Element(Var(var), label)}
    for name, (param, _) in zip(names, site.params, strict=True):
        found[name] = Element(OutL(Var(var), site, param), parameter_type(label, site, param))
    return found
