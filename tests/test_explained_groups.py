"""What an explanation says of groups: h, its lineage, how it merges, and what is answered."""

from support.totals import alike, spent

import ripplenest as rn


def test_each_group_is_split_into_what_is_merged_and_what_is_answered() -> None:
    groups = {g["site"]: g for g in rn.explain(spent).json()["groups"]}
    lines = groups["spent.orders1"]  # of which sum and len are one map
    assert lines["lineage"] == ["label.o1.items.id"] and lines["why"] == "every product equates o1.items with a column"
    assert lines["merge"] == ["rows: +", "x2.row.qty · x2.row.part: +"] and lines["nothing"] == ["0", "long? null"]
    assert lines["answers"] == {"value": "count()", "spent.orders.qty.value": "sum(x2.row.qty · x2.row.part)"}
    assert lines["h"].startswith(f"for x2 in C.orders.items union sng(⟨label: ⟨ι[`{lines['map']}`], x2.label⟩")
    whole = groups["spent.all"]
    assert whole["merge"] == ["rows: +", "i.row.qty: +"] and whole["answers"] == {"value": "sum(i.row.qty)"}
    assert len(groups) == 2


def test_the_text_says_what_is_folded_when_a_part_changes() -> None:
    found = rn.explain(alike)
    (name,) = [g["map"] for g in found.json()["groups"] if g["site"] == "alike.films"]
    text = found.text
    assert f"  {name}, of alike.films\n" in text and "what the rows of alike.films come to, by place and key" in text
    assert "3. Groups: what is folded or kept in order, in maps of their own" in text
    assert "every place has a row; that of nothing is ⟨long? null⟩" in text
    assert "lineage none: all rows" in text
    assert "when C changes by ΔC: nothing changes but what is folded" in text
    assert f"when {name} changes by Δ{name}" in text


def test_who_compares_with_one_value_for_all_rows_is_told() -> None:
    """All of them are compared again where nothing says which lie between the old value and the new one; unless the
    comparison is of the value alone, and so is made where it is."""

    @rn.view
    def above(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [c for c in C if c * 2.0 > rn.avg(n for n in L)]

    @rn.view
    def beyond(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [c for c in C if c > rn.avg(n for n in L)]

    @rn.view
    def valued(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [{"c": c, "is": c > rn.avg(n for n in L)} for c in C if c > 2.0]

    @rn.view
    def when(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [c for c in C if rn.avg(n for n in L) > 3]

    text = " ".join(rn.explain(above).text.split())
    when_ = "when avg(x), one value for all rows, changes"
    assert f"not incremental: for c in C: {when_}, C is read whole (size |C|), and what does not fit is" in text
    assert "`c · 2.0 > avg(x)` is no equality" in text
    assert "to mend it: compare with a value by key, or keep the two apart and compare them when they are read" in text
    assert not any("not incremental" in rn.explain(view).text for view in (beyond, when, valued))
    note = "when avg(x), one value for all rows, becomes NULL or is one again, C is read whole (size |C|)"
    assert note in " ".join(rn.explain(valued).text.split())


@rn.record
class Event:
    id: int
    user: int
    at: int
    v: int


def test_orders_say_where_they_keep_a_row_several_times() -> None:
    """Once for each place whose rows are compared with it by something else than an equality, or an edge."""

    @rn.view
    def largest(E: rn.Bag[Event]):  # type: ignore[no-untyped-def]
        return [
            {"id": a.id, "v": max(b.v for b in E if b.user == a.user and b.v != a.v and b.at <= a.at + 5)} for a in E
        ]

    @rn.view
    def before(E: rn.Bag[Event]):  # type: ignore[no-untyped-def]
        return [{"id": a.id, "at": max(b.at for b in E if b.user == a.user and b.at < a.at)} for a in E]

    @rn.view
    def each(E: rn.Bag[Event]):  # type: ignore[no-untyped-def]
        return [{"user": user, "v": max(e.v for e in es)} for user, es in rn.group_by(E, lambda e: e.user)]

    @rn.view
    def times(E: rn.Bag[Event]):  # type: ignore[no-untyped-def]
        return [{"id": a.id, "v": max(b.v * a.at + b.user * a.user for b in E if b.user == a.user)} for a in E]

    (r,) = rn.explain(times).json()["rankings"]
    assert (r["fits"], r["holds"]) == ([], ["b.v · a.at + b.user · a.user"])
    text = " ".join(rn.explain(times).text.split())
    assert "for each place, of which it holds `b.v · a.at + b.user · a.user`: up to the square of a group" in text
    found = [[r["fits"] for r in rn.explain(view).json()["rankings"]] for view in (largest, before, each)]
    assert found == [[["b.v ≠ a.v", "b.at ≤ a.at + 5"]], [[]], [[]]]
    said = "a row is kept once for each place that it fits by {}: up to the square of a group"
    text = " ".join(rn.explain(largest).text.split())
    assert said.format("`b.v ≠ a.v` and `b.at ≤ a.at + 5`") in text
    assert not any(r["holds"] for view in (largest, before, each) for r in rn.explain(view).json()["rankings"])
    assert not any("square" in rn.explain(view).text for view in (before, each))


def test_a_view_without_groups_has_no_such_section() -> None:
    @rn.view
    def names(C: rn.Bag[str]):  # type: ignore[no-untyped-def]
        return [c for c in C if c != ""]

    assert rn.explain(names).json()["groups"] == [] and "Groups" not in rn.explain(names).text


@rn.record
class Edge:
    x: int
    y: int


@rn.view
def triangles(E: rn.Bag[Edge]):  # type: ignore[no-untyped-def]
    return [{"n": len([1 for a in E for b in E if b.x == a.y for c in E if c.x == a.x and c.y == b.y])}]


@rn.record
class Entry:
    i: int
    j: int
    v: int


@rn.view
def chain(A: rn.Bag[Entry], B: rn.Bag[Entry], C: rn.Bag[Entry]):  # type: ignore[no-untyped-def]
    return [
        {"i": k.i, "l": k.l, "s": sum(t["v"] for t in g)}
        for k, g in rn.group_by(
            [
                {"i": a.i, "l": c.j, "v": a.v * b.v * c.v}
                for a in A
                for b in B
                if a.j == b.i
                for c in C
                if b.j == c.i and a.v < c.v
            ],
            lambda t: {"i": t["i"], "l": t["l"]},
        )
    ]


def test_the_join_of_a_group_has_a_bound_and_an_order() -> None:
    """The triangle: exponent 3/2, whatever is eliminated first."""
    explained = rn.explain(triangles, sizes={"E": 10_000})
    ((join,),) = (g["joins"] for g in explained.json()["groups"])
    assert [(e["name"], e["vertices"]) for e in join["edges"]] == [
        ("a", ["a.x", "a.y"]),
        ("b", ["a.y", "b.y"]),
        ("c", ["a.x", "b.y"]),
    ]
    assert (join["exponent"], join["width"], join["exact"], join["keys"], join["assumed"]) == (
        "3/2",
        "3/2",
        True,
        [],
        [],
    )
    assert round(join["most_rows"]) == 10**6 and join["rows"] == {"E": 10_000.0}
    text = " ".join(explained.text.split())
    assert "hypergraph a(a.x, a.y); b(a.y, b.y); c(a.x, b.y) keys none at most 1,000,000 rows are joined" in text
    assert "eliminate b.y, then a.y, then a.x: width 3/2, the least of all orders b.y: join b, c; leaves" in text


def test_a_chain_is_eliminated_from_inside_to_its_keys() -> None:
    """What is multiplied is summed where it is read; a condition on two tables is an edge of its own."""
    ((join,),) = (g["joins"] for g in rn.explain(chain).json()["groups"])
    found = {e["name"]: (e["kind"], e["vertices"]) for e in join["edges"]}
    assert found["b"] == ("generator", ["a.j", "b.j"]) and found["a.v < c.v"] == ("condition", ["a.v", "c.v"])
    assert join["keys"] == ["a.i", "c.j"] and join["steps"][-1]["keeps"] == ["a.i", "c.j"]
    assert sorted(join["order"]) == ["a.j", "a.v", "b.j", "c.v"]
    assert join["assumed"] == ["A", "B", "C"] and join["rows"]["A"] == 1_000_000.0


def test_orders_among_which_rows_choose_are_told() -> None:
    """The triangle is read from each end of an edge that changes."""
    explained = rn.explain(triangles)
    statement = next(s for s in explained.json()["statements"] if s["part"] == "E")
    assert [a["columns"] for a in statement["joins"][0]] == [[], ["x"], ["x", "y"]]
    assert [len(others) for others in statement["others"]] == [1, 1, 1]
    text = " ".join(explained.text.split())
    assert "reads ΔE, then probe E⁺ by y, then probe E by x, y or ΔE, then probe E by y, then" in text
