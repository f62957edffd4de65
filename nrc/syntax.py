"""The terms of NRC⁺ and of its label extension as one closed union (nrc-ivm, figure 3 and section 5.2).

Three sorts. *Elements* stand for one value and sit in heads and predicates. *Expressions* stand for a bag.
*Dictionaries* stand for 𝕃 ↦ Bag(C). Every node is frozen; a pass is one ``match`` over a sort, ended by
``assert_never``, so that mypy names each pass that a new construct has not reached.
"""

from enum import Enum
from typing import Literal

from attrs import field, frozen

from ripplenest.nrc.types import NUMBERED, Base, Label, Params, Record, Site, Type

Keys = tuple[tuple[str, tuple[str, ...]], ...]  # stored part, and the fields that are the key of its rows

PRIME = "ʹ"  # a letter, so that ΔʹR is a name


class At(Enum):
    """Which state of a stored part a term reads: before the batch, the change itself, or after it."""

    OLD = ""
    DELTA = "Δ"
    NEW = "⁺"

    def show(self, name: str, order: int = 1) -> str:
        """R, R⁺, or ΔR, and ΔʹR, ΔʹʹR, … for the updates that deltas of higher order add."""
        return f"Δ{PRIME * (order - 1)}{name}" if self is At.DELTA else name + self.value


class Node:
    """A term: frozen, so that what was found out about one stays true of it. ``walk.py`` keeps free variables here."""

    __slots__ = ("free", "free_lets")
    free: frozenset[str]
    free_lets: frozenset[str]


# ---------------------------------------------------------------- elements


@frozen
class Var(Node):
    """x, bound by a ``for`` (context Π) or by a dictionary's parameters."""

    name: str


@frozen
class Proj(Node):
    """t.f, the field f of a record."""

    of: "Elem"
    field: str


def _comparable(value: object) -> object:
    """NaN equals NaN, so that terms which hold it equal themselves; types keep it apart from the string."""
    return "NaN" if value != value else value  # noqa: PLR0124 - only NaN differs from itself


@frozen
class Lit(Node):
    """A constant of a base type; ``None`` is NULL."""

    value: object = field(eq=_comparable)
    type: Base


@frozen
class Call(Node):
    """fn(t₁, …): an entry of the table of scalar functions (``nrc/functions/scalars.py``)."""

    fn: str
    args: tuple["Elem", ...]


@frozen
class Tuple(Node):
    """⟨f₁: t₁, …⟩."""

    fields: tuple[tuple[str, "Elem"], ...]

    def get(self, name: str) -> "Elem | None":
        return dict(self.fields).get(name)


@frozen
class InL(Node):
    """inL_{ι,Π}(ε): the label ⟨ι, ε⟩."""

    site: str
    args: tuple[tuple[str, "Elem"], ...]


@frozen
class OutL(Node):
    """outL_ι(l).p: the value of parameter p of the label l, NULL when l was made elsewhere."""

    label: "Elem"
    site: Site
    param: str


@frozen
class IsSite(Node):
    """l ∈ ι: true when the label l was made at site ι; false for other labels and for NULL."""

    label: "Elem"
    site: str


Elem = Var | Proj | Lit | Call | Tuple | InL | OutL | IsSite

# ---------------------------------------------------------------- bags


@frozen
class Rel(Node):
    """R, a stored bag of rows ``row``; of several updates ΔR, ΔʹR, … of one part, the ``order`` says which."""

    name: str
    row: Type
    at: At = At.OLD
    order: int = 1

    @property
    def key(self) -> str:
        """What the part is called in a database of values: ``M``, ``ΔM`` or ``M⁺``."""
        return self.at.show(self.name, self.order)


@frozen
class Placed(Rel):
    """The rows ⟨label, row⟩ of the map of a group, or how they change. Parameters of their places that are ``computed``
    are functions of the others."""

    computed: frozenset[str] = field(default=frozenset(), kw_only=True)

    @property
    def place(self) -> Site:
        """What tells its places apart."""
        label = self.row.get("label") if isinstance(self.row, Record) else None
        assert isinstance(label, Label)
        (site,) = label.sites
        return site


@frozen
class Grouped(Placed):
    """α, once it is cut: the rows ⟨label, row⟩ of the map of a group, which has those of the places that are asked."""


@frozen
class Total(Grouped):
    """α of a fold without keys, once it is cut: for the labels of all places a row, ``nothing`` where none is stored.
    So it is no finite bag, and is read only where its labels are equated with what is read before; Δα is finite."""

    nothing: "Elem" = field(kw_only=True)


@frozen
class LetVar(Node):
    """X, bound by ``let`` (context Γ)."""

    name: str


@frozen
class Let(Node):
    """let X := e₁ in e₂."""

    name: str
    bound: "Expr"
    body: "Expr"


@frozen
class For(Node):
    """for x in e₁ union e₂."""

    var: str
    source: "Expr"
    body: "Expr"


@frozen
class Pred(Node):
    """p(x): Bag(1), {⟨⟩} where the scalar is true, {} where it is false or NULL."""

    cond: Elem


@frozen
class Weigh(Node):
    """w(t): Bag(1), {⟨⟩} as often as the integer t says: 0 times where it is NULL, taken away where it is below 0.

    p(x) is w(t) for a t of 1 and 0. Below a group only a t that is never negative may stand
    (``nrc/rewriting/positive.py``).
    """

    count: Elem


@frozen
class Sng(Node):
    """sng(t) for an element t: a record of scalars and variables. sng(inL_ι(ε)) is the paper's inL_ι(ε)."""

    elem: Elem


@frozen
class Sorting:
    """By which field of rows a bag is sorted where it is shown: the path of one, none of rows that are one value."""

    path: tuple[str, ...]
    descending: bool = False
    nulls_first: bool = False


@frozen
class SngBag(Node):
    """sng_ι(e), the unrestricted singleton; ι is unique among the sites of a query. Bags have no order: ``sorted`` says
    in which one the rows of this one are shown, and nothing else depends on it."""

    site: str
    body: "Expr"
    sorted: tuple[Sorting, ...] = ()


@frozen
class Flatten(Node):
    """flatten(e): the union of the inner bags of e; NULL bags add nothing."""

    of: "Expr"


@frozen
class Product(Node):
    """e₁ × e₂, rows ⟨_1: t₁, _2: t₂⟩."""

    left: "Expr"
    right: "Expr"


@frozen
class Plus(Node):
    """e₁ ⊎ e₂."""

    left: "Expr"
    right: "Expr"


@frozen
class Neg(Node):
    """⊖e."""

    of: "Expr"


@frozen
class Empty(Node):
    """∅ : Bag(row)."""

    row: Type


@frozen
class Apply(Node):
    """d(l): the bag that the dictionary d holds for the label l; {} when it holds none or l is NULL."""

    dictionary: "DictExpr"
    label: Elem


@frozen
class Fold:
    """fn(t₁, …) of the rows of a group: an entry of the table of folds (``nrc/functions/folds.py``), called ``name``.
    Its answer is a ``type``. Several arguments are ⊗-factors."""

    name: str
    fn: str
    args: tuple[Elem, ...]
    type: Base


@frozen
class Group(Node):
    """γ_α(x ∈ e; k; f): one row ⟨k…, f…⟩ for each key that rows of e have; without ``keys`` φ_α(x ∈ e; f), exactly one
    row, also of nothing. α is unique among the sites of a query; no row of e may be there less than 0 times."""

    site: str
    var: str
    of: "Expr"
    keys: tuple[tuple[str, Elem], ...] | None
    folds: tuple[Fold, ...]


@frozen
class Order:
    """What rows are ordered ``by``; where NULL comes does not depend on ``descending``."""

    by: Elem
    descending: bool = False
    nulls_first: bool = False


@frozen
class Top(Node):
    """τ_α(n; x ∈ e; o): the first n rows of e, ordered by o and then by all that they hold, ascending, NULL last. Rows
    hold no bags, each copy counts, and the last row may keep a part of its copies. α is unique among the sites of a
    query; no row of e may be there less than 0 times."""

    site: str
    var: str
    of: "Expr"
    order: tuple[Order, ...]
    limit: int


_Linear = Rel | LetVar | Let | For | Pred | Sng | SngBag | Flatten | Product | Plus | Neg | Empty | Apply | Weigh
Expr = _Linear | Group | Top

# ---------------------------------------------------------------- dictionaries


@frozen
class DictRel(Node):
    """A stored dictionary of an input relation. Its labels have the one site ``name``, whose ``params`` say which place
    a label names: the keys of the rows around its bag, or a number."""

    name: str
    row: Type
    at: At = At.OLD
    order: int = 1
    params: Params = NUMBERED

    @property
    def site(self) -> Site:
        return Site(self.name, self.params)

    @property
    def key(self) -> str:
        return self.at.show(self.name, self.order)


@frozen
class GroupRel(DictRel):
    """The map of a group as a dictionary: from what its place is made of to its rows. ``nothing`` is the row that every
    other label has, of a fold without keys. ``params`` that are ``computed`` are functions of others."""

    nothing: Elem | None = None
    computed: frozenset[str] = frozenset()


@frozen
class DictLit(Node):
    """[(ι,Π) ↦ e]: the parameters are read in e as outL_ι(var).p."""

    site: Site
    var: str
    body: Expr


@frozen
class DictPlus(Node):
    """d₁ ⊎ d₂: the bags of a label are added."""

    left: "DictExpr"
    right: "DictExpr"


@frozen
class DictUnion(Node):
    """d₁ ∪ d₂: label union; what both define must agree."""

    left: "DictExpr"
    right: "DictExpr"


@frozen
class DictEmpty(Node):
    """[] : 𝕃 ↦ Bag(row), with empty support."""

    row: Type


DictExpr = DictRel | DictLit | DictPlus | DictUnion | DictEmpty

Term = Expr | DictExpr | Elem

TRUE = Lit(True, Base("bool"))
UNIT_ELEM = Tuple(())


def dict_row(row: Type, name: str, params: Params = NUMBERED) -> Record:
    """The rows by which a stored dictionary is one flat bag: ⟨label, row⟩."""
    return Record((("label", Label((Site(name, params),))), ("row", row)))


What = Literal["fields", "null", "shown"]


@frozen
class Assumed:
    """What a source takes for granted of a relation: that the rows at ``path`` have the ``fields`` that they have, or
    that the field there is never ``null``; where they get others, that the view goes on with those that are ``shown``
    now, and means the same but for them. The rows of a bag are ``[]`` in a path."""

    relation: str
    path: tuple[str, ...]
    what: What


@frozen
class Query:
    """A view before compilation: its name, its term, the relations that it reads with their row types, and by stored
    part the fields that are the key of its rows where labels are made of keys. Its rows are shown ``sorted``. What its
    source ``assumes`` says which changes of these relations the term does not follow (``nrc/surface/assumed.py``)."""

    name: str
    body: Expr
    relations: tuple[tuple[str, Type], ...] = field(factory=tuple)
    keys: Keys = ()
    sorted: tuple[Sorting, ...] = ()
    assumes: tuple[Assumed, ...] = field(default=(), eq=False)
