"""The layout of labels is one: what ``data/labels.py`` says of positions is where ``data/columns.py`` puts columns."""

from collections import Counter
from typing import assert_never

from support.choices import Choices, seeded
from support.schemas import base_type

from ripplenest.data.columns import columns, from_leaves, to_leaves
from ripplenest.data.labels import Filled, Mark, Named, is_tagged, labels, site_columns, width
from ripplenest.nrc.bags import LabelValue
from ripplenest.nrc.types import LONG, Label, Record, Site, Type

CASES = 400
COUNTS: Counter[str] = Counter()


def flat_type(c: Choices, depth: int) -> Type:
    choice = c.number(4)
    if choice < 2 or depth == 0:
        return base_type(c)
    return record(c, depth) if choice == 2 else label(c, depth)


def record(c: Choices, depth: int) -> Record:
    return Record(tuple((f"f{i}", flat_type(c, depth - 1)) for i in range(c.number(4))))


def label(c: Choices, depth: int) -> Label:
    sites = tuple(
        Site(f"s{i}", tuple((f"p{j}", flat_type(c, depth - 1)) for j in range(c.number(3)))) for i in range(c.number(4))
    )
    return Label(sites, c.number(3) == 0)


def test_the_columns_of_each_site() -> None:
    """Laws: the sites' columns and the tag are all columns of a label, once and in order; a label of a site has values
    there and NULL in the columns of the other sites."""
    for seed in range(CASES):
        t = label(seeded(seed), 3)
        found = list(site_columns(t))
        COUNTS[f"{min(len(t.sites), 2)} sites"] += 1
        assert [i for s in found for i in s.params] == list(range(is_tagged(t), width(t)))
        assert width(t) == len(columns(t))
        for s in found:
            params = Record(s.site.params)
            assert [columns(t)[i].type.kind for i in s.params] == [c.type.kind for c in columns(params)]
            assert s.label == ((0, *s.params) if is_tagged(t) else tuple(s.params))
            COUNTS["labels inside of labels"] += any(isinstance(p, Label) for _, p in s.site.params)
        marks = tuple(f"v{i}" for i in range(width(t)))
        for s in found if is_tagged(t) else ():
            leaves = tuple(s.site.name if i == s.tag else marks[i] if i in s.params else None for i in range(width(t)))
            made = from_leaves(leaves, t)
            assert isinstance(made, LabelValue) and made.site == s.site.name
            COUNTS["labels with a tag"] += 1
            if not list(labels(Record(s.site.params))):  # labels of these marks have no site, and so no columns
                assert to_leaves(made, t) == leaves


def holds(mark: Mark, leaves: tuple[object, ...]) -> bool:
    match mark:
        case None:
            return True
        case Named(column, site):
            return leaves[column] == site
        case Filled(column):
            return leaves[column] is not None
        case _:
            assert_never(mark)


def test_a_mark_says_who_made_a_label() -> None:
    """Laws: columns have the mark of a site just where it made the label; NULL is NULL in every column and has no mark;
    what was written is read."""
    for seed in range(CASES):
        t = label(seeded(seed), 3)
        stored = Label((Site(f"R.{seed}", (("id", LONG),)),), nullable=seed % 2 == 0)
        plain = not any(list(labels(Record(site.params))) for site in t.sites)  # values of these marks have no labels
        for kind in [t, stored] if plain and (is_tagged(t) or not t.nullable) else [stored]:
            found = list(site_columns(kind))
            for made in found:
                args = tuple(from_leaves(tuple(range(1, 1 + width(a))), a) for _, a in made.site.params)
                value = LabelValue(made.site.name, args)
                leaves = to_leaves(value, kind)
                assert [s.site.name for s in found if holds(s.mark, leaves)] == [value.site]
                assert from_leaves(leaves, kind) == value
                COUNTS[f"mark {type(made.mark).__name__}"] += 1
            empty = (None,) * width(kind)
            assert to_leaves(None, kind) == empty
            if kind.nullable:
                assert from_leaves(empty, kind) is None
                assert not any(holds(s.mark, empty) for s in found)
                COUNTS["NULL"] += 1


def test_labels_where_they_begin() -> None:
    """Law: labels(r, n) are at the positions at which their columns begin among those of r, and n further."""
    for seed in range(CASES):
        t = record(seeded(seed), 3)
        for start in (0, 5):
            for at, found in labels(t, start):
                inside = columns(t)[at - start : at - start + width(found)]
                assert [c.type.kind for c in inside] == [c.type.kind for c in columns(found)]
                COUNTS["labels of records"] += 1


def test_what_was_covered() -> None:
    wanted = ("0 sites", "1 sites", "2 sites", "labels inside of labels", "labels with a tag", "labels of records")
    wanted += ("mark Named", "mark Filled", "mark NoneType", "NULL")
    assert all(COUNTS[what] >= 20 for what in wanted), COUNTS
