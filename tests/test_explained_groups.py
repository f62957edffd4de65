"""What an explanation says of groups: h, its lineage, how it merges, and what is answered."""

from support.totals import alike, spent

import ripplenest as rn


def test_each_group_is_split_into_what_is_merged_and_what_is_answered() -> None:
    groups = {g["map"]: g for g in rn.explain(spent).json()["groups"]}
    lines = groups["spent/G[spent.orders1]"]  # of which sum and len are one map
    assert lines["lineage"] == ["label.o1.items.id"] and lines["why"] == "every product equates o1.items with a column"
    assert lines["merge"] == ["rows: +", "x2.row.qty · x2.row.part: +"] and lines["nothing"] == ["0", "long? null"]
    assert lines["answers"] == {"value": "count()", "spent.orders.qty.value": "sum(x2.row.qty · x2.row.part)"}
    assert lines["h"].startswith("for x2 in C.orders.items union sng(⟨label: ⟨ι[`spent/G[spent.orders1]`], x2.label⟩")
    whole = groups["spent/G[spent.all]"]
    assert whole["merge"] == ["rows: +", "i.row.qty: +"] and whole["answers"] == {"value": "sum(i.row.qty)"}
    assert len(groups) == 2


def test_the_text_says_what_is_folded_when_a_part_changes() -> None:
    text = rn.explain(alike).text
    assert "3. Groups: what is folded or kept in order, in maps of their own" in text
    assert "every place has a row; that of nothing is ⟨long? null⟩" in text
    assert "lineage none: all rows" in text
    assert "when C changes by ΔC: nothing changes but what is folded" in text
    assert "when alike/G[alike.films] changes by Δalike/G[alike.films]" in text


def test_who_compares_with_one_value_for_all_rows_is_told() -> None:
    """All of them are compared again; unless the comparison is of the value alone, and so is made where it is."""

    @rn.view
    def above(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [c for c in C if c > rn.avg(n for n in L)]

    @rn.view
    def when(C: rn.Bag[float], L: rn.Bag[int]):  # type: ignore[no-untyped-def]
        return [c for c in C if rn.avg(n for n in L) > 3]

    text = " ".join(rn.explain(above).text.split())
    assert "not incremental: for c in C: when avg(x), one value for all rows, changes, C is read whole" in text
    assert "to mend it: compare with a value by key, or keep the two apart and compare them when they are read" in text
    assert "not incremental" not in rn.explain(when).text


def test_a_view_without_groups_has_no_such_section() -> None:
    @rn.view
    def names(C: rn.Bag[str]):  # type: ignore[no-untyped-def]
        return [c for c in C if c != ""]

    assert rn.explain(names).json()["groups"] == [] and "Groups" not in rn.explain(names).text
