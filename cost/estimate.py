"""How many rows a product of the normal form touches: C[[.]] (nrc-ivm, figure 5) refined by what equalities look up.

C[[e₁ × e₂]] multiplies cardinalities, whatever the predicate. A join by equality reads of the second table only the
rows with the keys of the first; this is what separates maps worth keeping from joins that are cheap anyway. Estimates
choose between plans that all give the same answer: they need to be in the right order, not exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import prod

from attrs import frozen

from ripplenest.cost.moving import told
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.paths import column_of, columns_read, label_columns, labels_held, root
from ripplenest.nrc.rewriting.access import MOST_KEYS, Join, Read, joins
from ripplenest.nrc.rewriting.equated import Equation
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Elem, Rel
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Label, Record, Site

MOST = 1e300  # where estimates stop growing, far from what a float can hold
ROOT = 0.5  # a column that is not known to be unique has |T|^0.5 values, each in |T|^0.5 rows

Rows = Mapping[str, float]
Keys = Mapping[str, Sequence[frozenset[str]]]


@frozen
class Estimate:
    """``read``: rows read from stored tables. ``out``: rows made, before equal ones are added up."""

    read: float
    out: float

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(min(self.read + other.read, MOST), min(self.out + other.out, MOST))


NOTHING = Estimate(0.0, 0.0)


def estimate(c: Comprehension, rows: Rows, keys: Keys | None = None, *, skewed: bool = False) -> Estimate:
    """What evaluating the product ``c`` costs when tables have ``rows``, by ``Rel.key`` (``M``, ``ΔM``, ``M⁺``).

    With a change among its generators the others are read from it outwards (``nrc/rewriting/access.py``); without one
    the product is computed from scratch, and every table is read whole. A missing M⁺ has the rows of M and of ΔM, if
    any. ``keys``: by table, the sets of columns (``custkey``, ``row.qty``; ``label`` of dictionaries) that are unique.
    ``skewed``: changes are likely to be of values that many rows of another table have, not as many as of others.
    Raises UnknownName on a table without a cardinality.
    Laws: grows with ``rows``, except with those of a table whose unique columns group another: the more groups, the
    smaller each. Where ``skewed``, it is no less. ``out`` is exact for joins by unique columns where each row finds its
    partner, unless ``skewed``.
    """
    tables = _Tables(rows, keys or {}, skewed)
    return reduce(Estimate.__add__, (_estimate(j, tables) for j in joins(c)), NOTHING)


def estimate_all(cs: Iterable[Comprehension], rows: Rows, keys: Keys | None = None) -> Estimate:
    """The sum of the estimates of products."""
    return reduce(Estimate.__add__, (estimate(c, rows, keys) for c in cs), NOTHING)


def different(c: Comprehension, columns: Iterable[Elem], rows: Rows, keys: Keys | None = None) -> float:
    """About how many different values the rows of the product ``c`` have in ``columns``, paths into its generators, or
    computed of some: no more than it has rows, nor than combinations of the values in each table. Raises UnknownName on
    a table without a cardinality."""
    rels, tables = dict(c.generators), _Tables(rows, keys or {})
    read: dict[str, set[str]] = {}
    for t in (path for value in columns for path in columns_read(value, frozenset(rels), c.variables())):
        var = root(t)
        assert var is not None
        read.setdefault(var, set()).update(column_names(t, c))
    each = (tables.different(rels[var], frozenset(found)) for var, found in read.items())
    return min(prod(each), max(estimate(c, rows, keys).out, 1.0))


def column_names(t: Elem, c: Comprehension) -> frozenset[str]:
    """The columns of a path."""
    name, found = column_of(t) or "", elem_type(t, c.variables())
    if isinstance(found, Label):
        return frozenset(column for site in found.sites for column in label_columns(name, site))
    return frozenset((name,))


def several(c: Comprehension, keys: Keys) -> frozenset[str]:
    """The generators of which the change that ``c`` reads may find several rows, by what is read before: by no columns
    that are unique."""
    tables = _Tables({}, keys)
    reads = (r for j in joins(c) for r in j.reads() if r.how != "change")
    return frozenset(r.var for r in reads if not tables.is_one(r.rel, frozenset(e.column for e in r.equated)))


def is_one(rel: Rel, columns: frozenset[str], keys: Keys) -> bool:
    """Whether a value of ``columns`` is in one row of ``rel`` at most."""
    return _Tables({}, keys).is_one(rel, columns)


def is_one_row(c: Comprehension, keys: Keys) -> bool:
    """Whether constants tell the only row of which ``c`` is made."""
    tables = _Tables({}, keys)
    return len(c.generators) == 1 and all(tables.is_constant(r) for j in joins(c) for r in j.reads())


def found_by_a_key(j: Join, r: Read, rows: Rows) -> float:
    """How many rows one key of the probe ``r`` of ``j`` finds. Raises UnknownName on a table without a cardinality."""
    return _Tables(rows, {}).fan_out(r.rel, r.keys, dict(j.product.generators))


def _estimate(j: Join, tables: "_Tables") -> Estimate:
    """Of several orders the one that reads least: rows of a change choose by what they find."""
    out, rels = 1.0, dict(j.product.generators)
    first, *others = j.orders()
    for r in first:
        found = tables.fan_out(r.rel, r.equated, rels)
        out = min(out * (_between(found) if len(r.band) == 2 or tables.is_told(r, j, first) else found), MOST)
    read = min(_rows_read(j, order, tables, rels) for order in (first, *others))
    return Estimate(min(read, MOST), out)


def _rows_read(j: Join, order: Sequence[Read], tables: "_Tables", rels: Mapping[str, Rel]) -> float:
    """The rows of stored tables that are read in this order, from scratch or from a change."""
    from_change = any(r.how == "change" for r in order)
    found: dict[str, _Found] = {}
    for r in order:
        if from_change and (r.keys or r.ends):
            found[r.var] = _found(r, len(r.ends) == 2 or tables.is_told(r, j, order), found, tables, rels)
        else:
            found[r.var] = _Found(tables.size(r.rel), tables.size(r.rel), frozenset((r.var,)))
    return sum(f.rows for var, f in found.items() if rels[var].at is not At.DELTA)


def _between(rows: float) -> float:
    """About how many of some rows lie between two values: as many as have a value of a column that is not unique."""
    return float(rows**ROOT) if rows > 1 else rows


@frozen
class _Found:
    """``rows`` of a generator that can take part, how many one key finds (``fan``), and the generators ``behind`` it,
    with itself: those that its keys come from."""

    rows: float
    fan: float
    behind: frozenset[str]


def _found(
    r: Read, is_between: bool, before: Mapping[str, _Found], tables: "_Tables", rels: Mapping[str, Rel]
) -> _Found:
    """What a probe finds, which reads each row once, however many keys ask for it; where keys are joined from several
    generators there are as many as combinations of their rows, and where these are too many those of one are asked."""
    size, fan = tables.size(r.rel), tables.fan_out(r.rel, r.keys, rels)
    ends = () if tables.is_one(r.rel, frozenset(e.column for e in r.keys)) else r.ends
    fan = _between(fan) if ends and is_between else fan
    behind = frozenset((r.var,)).union(*(before[v].behind for v in r.via))
    if len(r.via) < 2:
        via = (*r.via, *(v for b in ends for v in b.others))
        asked = before[via[0]].rows if via else 1.0
        return _Found(min(asked * fan, size), fan, behind)
    alone = min(before[r.via[0]].rows * tables.fan_out(r.rel, r.alone, rels), size) if r.alone else size
    keys = min(prod(before[v].fan for v in behind - {r.var}), MOST)
    joined = alone if r.alone and keys > MOST_KEYS else min(keys * fan, alone)
    return _Found(joined, fan, behind)


@frozen
class _Tables:
    """What is known of the stored tables."""

    rows: Rows
    keys: Keys
    skewed: bool = False

    def size(self, rel: Rel) -> float:
        if rel.at is At.NEW and rel.key not in self.rows:
            return min(self._rows(rel.name) + self.rows.get(At.DELTA.show(rel.name), 0.0), MOST)
        higher = rel.at is At.DELTA and rel.key not in self.rows  # ΔʹR has as many rows as ΔR
        return self._rows(At.DELTA.show(rel.name) if higher else rel.key)

    def fan_out(self, rel: Rel, found: tuple[Equation, ...], others: Mapping[str, Rel]) -> float:
        """Rows of ``rel`` for one value of the columns of ``found``: 1 when they are unique, else |T|^(1/2^n) for n of
        them.

        Where some of them are equated with unique columns of another table U, the rows of one row of U are |T| / |U|,
        and take the place of T for the other columns; and so for a dictionary T, its label, and its parent U. Where
        changes are skewed, those of a row of U are no fewer than those of a value of columns that are not unique.
        """
        size = self.size(rel)
        columns = frozenset(e.column for e in found)
        if self.is_one(rel, columns):
            return min(1.0, size)
        partners, bags = list(self._partners(found, others)), list(self._bags(rel, columns))
        even = _of_groups(size, columns, [*partners, *bags])
        return max(even, _of_groups(size, columns, bags)) if self.skewed else even

    def different(self, rel: Rel, columns: frozenset[str]) -> float:
        """The values of ``columns``: as many as rows where they are unique, as many as there are bags of a dictionary
        for its label, and else |T|^½ for each."""
        size = self.size(rel)
        if self.is_one(rel, columns):
            return size
        site = dictionary_site(rel)
        label = frozenset[str]() if site is None else label_columns("label", site)
        bags = max(self._parent(rel), 1.0) if label and label <= columns else 1.0
        others = columns - label if bags > 1 else columns
        return float(min(bags * size ** (ROOT * len(others)), max(size, 1.0)))

    def _partners(self, found: tuple[Equation, ...], others: Mapping[str, Rel]) -> Iterable["_Groups"]:
        """For each U whose unique columns these are equated with."""
        by_var: dict[str, dict[str, str]] = {}
        for e in found:
            if e.partner:
                by_var.setdefault(e.partner[0], {})[e.partner[1]] = e.column
        for var, columns in by_var.items():
            for unique in self._unique(others[var]):
                if unique <= columns.keys():
                    yield self.rows.get(others[var].name, 0.0), frozenset(columns[c] for c in unique)

    def _bags(self, rel: Rel, columns: frozenset[str]) -> Iterable["_Groups"]:
        """For a dictionary, of which a label is asked for."""
        site = dictionary_site(rel)
        if site is not None and (label := label_columns("label", site)) <= columns:
            yield self._parent(rel), label

    def is_one(self, rel: Rel, columns: frozenset[str]) -> bool:
        """Whether a value of ``columns`` is in one row at most."""
        return any(unique <= columns for unique in self._unique(rel))

    def is_told(self, r: Read, j: Join, order: Sequence[Read]) -> bool:
        """Whether what lies beyond a value is read only as far as a change moves it (``cost/moving.py``)."""
        return told(r, j, order, self._is_moved)

    def _is_moved(self, r: Read) -> bool:
        return r.how == "change" and self.is_constant(r)

    def is_constant(self, r: Read) -> bool:
        """Whether constants say which row it is."""
        columns = frozenset(e.column for e in r.equated if e.constant)
        return bool(columns) and self.is_one(r.rel, columns)

    def _unique(self, rel: Rel) -> list[frozenset[str]]:
        """What is declared, and the labels of inner bags that the rows hold: each is held once."""
        held = (label_columns(path or "value", site) for path, site in labels_held(rel.row, rel.name))
        return [*self.keys.get(rel.name, ()), *held]

    def _parent(self, rel: Rel) -> float:
        """The rows of the nearest part above in a dictionary's path; 0 when they are not known."""
        above = rel.name
        while "." in above:
            above = above.rpartition(".")[0]
            if above in self.rows:
                return self.rows[above]
        return 0.0

    def _rows(self, key: str) -> float:
        if key not in self.rows:
            raise UnknownName(f"there is no cardinality of {key!r}", got=key, possible=sorted(self.rows))
        return min(float(self.rows[key]), MOST)


_Groups = tuple[float, frozenset[str]]  # how many groups of rows some columns make; 0 where it is not known


def _of_groups(size: float, columns: frozenset[str], groups: Iterable[_Groups]) -> float:
    """Rows for one value of ``columns``, some of which make the most of ``groups``."""
    many, used = max((g for g in groups if g[0] >= 1), key=lambda g: g[0], default=(1.0, frozenset[str]()))
    group = max(size / many, min(1.0, size))
    return float(min(group ** (ROOT ** len(columns - used)), size))


def dictionary_site(rel: Rel) -> Site | None:
    """The site of the labels where rows are ⟨label, row⟩ of a stored dictionary; None where they are none."""
    label = rel.row.get("label") if isinstance(rel.row, Record) else None
    return label.site(rel.name) if isinstance(label, Label) and label.only(rel.name) else None
