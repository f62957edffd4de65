"""What is bound around a term that is printed: the variables, and what they range over.

``l⟨p⟩`` is how a parameter is read where the type of ``l`` says at which site; a printer that knows what ``l`` ranges
over can tell. Types are found when a parameter is met, because most terms read none.
"""

from attrs import frozen

from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.syntax import Elem, Expr, OutL
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import Label, Site, Type


@frozen
class _Binder:
    name: str
    let: bool
    bound: Expr | Type


@frozen
class Around:
    """The binders around a term, outer ones first."""

    binders: tuple[_Binder, ...] = ()

    def rows(self, var: str, source: Expr) -> "Around":
        """Below ``for var in source union``."""
        return Around((*self.binders, _Binder(var, False, source)))

    def let(self, name: str, bound: Expr) -> "Around":
        """Below ``let name := bound in``."""
        return Around((*self.binders, _Binder(name, True, bound)))

    def value(self, var: str, t: Type) -> "Around":
        """Where the variable ``var`` is a ``t``."""
        return Around((*self.binders, _Binder(var, False, t)))

    def is_let(self, name: str) -> bool:
        """True where ``name`` is a let-variable."""
        return any(b.let and b.name == name for b in self.binders)

    def is_plain(self, t: OutL) -> bool:
        """True when the type of the label alone says at which site the parameter is read."""
        found = self._label(t.label)
        return found is not None and sites_with(found, t.param) == [t.site]

    def _label(self, t: Elem) -> Label | None:
        gamma: dict[str, Type] = {}
        pi: dict[str, Type] = {}
        try:
            for b in self.binders:
                (gamma if b.let else pi)[b.name] = _type(b, gamma, pi)
            found = elem_type(t, pi)
        except RipplenestError:  # part of a term, or one without a type
            return None
        return found if isinstance(found, Label) else None


def _type(b: _Binder, gamma: dict[str, Type], pi: dict[str, Type]) -> Type:
    if isinstance(b.bound, Type):
        return b.bound
    bag = expr_type(b.bound, gamma, pi)
    return bag if b.let else bag.row


def sites_with(label: Label, param: str) -> list[Site]:
    """The sites of a label type that have the parameter ``param``."""
    return [site for site in label.sites if param in dict(site.params)]


NOWHERE = Around()
