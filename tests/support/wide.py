"""The tests that ``make test`` has no time for: ``make test-wide`` runs them, and so does ``.ci/run``.

They ask again, at length, what quicker tests ask as well: views as users write them over many rows and batches, tasks
and scalars of Spark beside what is made in process, whole documents of many kinds, the demo. Each entry is a folder, a
module or a test.
"""

WIDE = (
    "tasks/",
    *(f"api/test_{name}.py" for name in (
        "ages", "arrays", "assumed", "bad_rows", "between", "clocks", "computed_keys", "deep_pairs",
        "few_of_each_other", "first_others", "folding", "folds_over_rings", "left_out", "limits", "nearest",
        "null_bags", "optional_bags", "optional_records", "outer_joins", "places", "plain_python", "rekey",
        "same_bytes", "sets",
        "shared_groups", "spans", "statuses", "stepped", "sums_of_products", "taken_away", "thresholds", "triangles",
        "valid", "what_is_kept",
    )),
    "api/test_alter.py::test_fields_beside_what_is_nothing",
    "api/test_endurance.py",
    "api/test_so_far.py::test_they_are_those_after_every_batch",
    "api/test_views_api.py::test_spark_gives_the_same",
    *(f"bench/test_{name}.py" for name in ("command", "growing", "measure", "rivals")),
    *(f"delta/test_{name}.py" for name in ("answered", "semijoin", "swap")),
    "delta/test_joined.py::test_with_or_without",
    *(f"intake/test_{name}.py" for name in ("columns", "each", "plain")),
    *(f"nrc/test_{name}.py" for name in (
        "alternatives", "beyond", "cases", "distinct", "extremes", "others", "parse_robust",
    )),
    *(f"plan/test_{name}.py" for name in ("compared_laws", "failing", "many_views", "sum_maps", "timed_laws", "trees")),
    "publish/test_cost.py",
    *(f"run/test_{name}.py" for name in ("one_state", "piecewise", "refill", "running")),
    *(f"security/test_{name}.py" for name in ("hostile_names", "our_names", "private")),
    "source/test_spark.py",
    *(f"spark/test_{name}.py" for name in ("joiner", "no_value", "scalars", "sources", "units")),
    "store/test_merging.py",
    "test_demo.py::test_a_difference_is_found",
    "test_demo.py::test_the_demo_on_few_films",
    "test_flat_totals.py",
    "test_random_faq.py",
    "test_tpch.py",
    "test_typing.py",
)  # fmt: skip


def is_wide(node: str) -> bool:
    """Whether a test with this id is one of them."""
    return node.partition("[")[0].removeprefix("tests/").startswith(WIDE)
