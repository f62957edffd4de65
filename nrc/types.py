"""Types of the calculus (nrc-ivm, sections 3 and 5.1), with n-ary records instead of pairs.

``A, B, C := Base | Record{f: A} | Bag(C)``, and for shredded terms ``𝕃`` (labels) and ``𝕃 ↦ Bag(C)`` (dictionaries).
The unit type 1 is the record without fields. A label type lists the *sites* that can have made the label: a
label is a variant ``⟨ι, values of Π⟩``, so its columns are known statically and labels of other sites never mix.
"""

from typing import Literal, TypeGuard, assert_never

from attrs import field, frozen

EXISTS = "∃"  # the field of a record that may be NULL which says whether it is there

Kind = Literal["bool", "int", "long", "double", "decimal", "string", "date", "timestamp", "binary"]


@frozen
class Base:
    """A base type, one to one with Spark's; ``precision`` and ``scale`` are for decimals only."""

    kind: Kind
    nullable: bool = False
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        name = f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind
        return name + ("?" if self.nullable else "")


@frozen
class Record:
    """⟨f₁: A₁, …⟩. Field order is the order of declaration; names are unique.

    A record that may be NULL as a whole, ⟨f₁: A₁, …⟩?, is ⟨∃: bool, f₁: A₁?, …⟩ (``optional``): whether it is there,
    and NULL in every field where it is not. So to the calculus, to maps and to engines it is a record like others, and
    only where values come in and go out is it one value. ``firm`` fields are NULL only where the record is not there;
    types that differ in this alone have the same values in views.
    """

    fields: tuple[tuple[str, "Type"], ...]
    firm: tuple[str, ...] = field(default=(), eq=False, repr=False)

    def __str__(self) -> str:
        shown = self.there if self.is_optional else self
        return "⟨" + ", ".join(f"{name}: {t}" for name, t in shown.fields) + "⟩" + ("?" if self.is_optional else "")

    @property
    def is_optional(self) -> bool:
        """Whether it may be NULL as a whole."""
        return self.fields[:1] == ((EXISTS, BOOL),)

    @property
    def there(self) -> "Record":
        """Without ∃, as it is where it is there. Law: optional(t).there = t."""
        own = self.fields[1:] if self.is_optional else self.fields
        return Record(tuple((name, _there(t, name in self.firm)) for name, t in own))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    def get(self, field: str) -> "Type | None":
        """The type of ``field``, or None when there is none."""
        return dict(self.fields).get(field)


@frozen
class Bag:
    """Bag(A): rows of type A, each with an integer multiplicity. A nullable bag may be NULL, which is not ∅."""

    row: "Type"
    nullable: bool = False

    def __str__(self) -> str:
        return f"Bag({self.row})" + ("?" if self.nullable else "")


@frozen
class Site:
    """One place where labels are made: ι and its parameters Π, each a Base or a Label."""

    name: str
    params: tuple[tuple[str, "Type"], ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(name for name, _ in self.params)})"


@frozen
class Label:
    """𝕃: a label made at one of ``sites`` (sorted by name)."""

    sites: tuple[Site, ...]
    nullable: bool = False

    def __str__(self) -> str:
        return "𝕃{" + ", ".join(s.name for s in self.sites) + "}" + ("?" if self.nullable else "")

    def only(self, name: str) -> bool:
        """True when every value is a label of this site, none NULL."""
        return not self.nullable and [site.name for site in self.sites] == [name]

    def site(self, name: str) -> Site | None:
        return next((s for s in self.sites if s.name == name), None)


@frozen
class Dict:
    """𝕃 ↦ Bag(C): what the labels of ``sites`` stand for."""

    row: "Type"

    def __str__(self) -> str:
        return f"𝕃 ↦ Bag({self.row})"


Type = Base | Record | Bag | Label | Dict
Params = tuple[tuple[str, Type], ...]

UNIT = Record(())
BOOL, INT, LONG = Base("bool"), Base("int"), Base("long")
NUMBERED: Params = (("id", LONG),)  # what identifies a stored row that has no key
DOUBLE, STRING = Base("double"), Base("string")


def is_flat(t: Type) -> bool:
    """True when ``t`` holds no inner bag, so that one table can store it."""
    match t:
        case Base() | Label():
            return True
        case Record(fields):
            return all(is_flat(f) for _, f in fields)
        case Bag() | Dict():
            return False
        case _:
            assert_never(t)


def is_plain(t: Type) -> bool:
    """True when ``t`` is made of base values alone."""
    return isinstance(t, Base) or (isinstance(t, Record) and all(is_plain(f) for _, f in t.fields))


def has_columns(row: Type) -> TypeGuard[Record]:
    """Whether rows are shown as columns of their fields. Others are one column: base values, bags, and records that may
    be NULL as a whole."""
    return isinstance(row, Record) and not row.is_optional


def nullable(t: Type, flag: bool = True) -> Type:
    """``t`` with NULL allowed (or not). Records and dictionaries are never NULL."""
    match t:
        case Base(kind, _, precision, scale):
            return Base(kind, flag, precision, scale)
        case Bag(row):
            return Bag(row, flag)
        case Label(sites):
            return Label(sites, flag)
        case Record() | Dict():
            return t
        case _:
            assert_never(t)


def places(n: int) -> tuple[str, ...]:
    """What the parts of a tuple are called, ⟨_1: …, _2: …⟩."""
    return tuple(f"_{i}" for i in range(1, n + 1))


def optional(t: Type) -> Type:
    """``t`` with NULL allowed as a whole, records too."""
    match t:
        case Record() if not t.is_optional:
            loose = _loose(t)
            return Record(((EXISTS, BOOL), *loose.fields), loose.firm)
        case _:
            return nullable(t)


def _loose(t: Record) -> Record:
    """``t`` with NULL in every field, which is there or not as the record around it is."""
    loose = ((n, _loose(f) if isinstance(f, Record) and not f.is_optional else nullable(f)) for n, f in t.fields)
    return Record(tuple(loose), tuple(n for n, f in t.fields if not (may_be_null(f) or isinstance(f, Record))))


def _there(t: Type, is_firm: bool) -> Type:
    """A field of a record that is there."""
    if isinstance(t, Record):
        return t if t.is_optional else t.there
    return nullable(t, False) if is_firm else t


def may_be_null(t: Type) -> bool:
    """True when NULL is a value of ``t``, as terms have it: a record that may be NULL is one of several fields."""
    match t:
        case Base() | Bag() | Label():
            return t.nullable
        case Record() | Dict():
            return False
        case _:
            assert_never(t)


def join(a: Type, b: Type) -> Type | None:
    """The least type that holds the values of both (for ⊎ and conditionals), or None.

    Nullability and label sites are joined; base kinds must be equal.
    """
    match a, b:
        case Base(), Base() if (a.kind, a.precision, a.scale) == (b.kind, b.precision, b.scale):
            return nullable(a, a.nullable or b.nullable)
        case Record(fs), Record(gs) if a.names == b.names:
            joined = [(n, join(f, g)) for (n, f), (_, g) in zip(fs, gs, strict=True)]
            good = tuple((n, t) for n, t in joined if t is not None)
            firm = tuple(name for name in a.firm if name in b.firm)
            return Record(good, firm) if len(good) == len(joined) else None
        case Bag(r), Bag(s):
            row = join(r, s)
            return None if row is None else Bag(row, a.nullable or b.nullable)
        case Label(), Label():
            return _join_labels(a, b)
        case Dict(r), Dict(s):
            row = join(r, s)
            return None if row is None else Dict(row)
        case _:
            return None


def _join_labels(a: Label, b: Label) -> Label | None:
    sites = {s.name: s for s in a.sites}
    for other in b.sites:
        joined = _join_sites(sites.get(other.name, other), other)
        if joined is None:
            return None
        sites[other.name] = joined
    return Label(tuple(sites[n] for n in sorted(sites)), a.nullable or b.nullable)


def _join_sites(a: Site, b: Site) -> Site | None:
    params = join(Record(a.params), Record(b.params))
    return Site(a.name, params.fields) if isinstance(params, Record) else None
