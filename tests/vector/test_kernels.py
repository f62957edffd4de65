"""Every scalar function over columns: row by row the reference's value, or failed where the reference raises."""

from datetime import datetime
from itertools import product
from struct import pack

import numpy as np
import pyarrow as pa
import pytest
from support.behind import over_edges
from support.edges import EDGES, signatures

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.errors import EvaluationError, UnknownName
from ripplenest.nrc.functions.meanings import LOWER, UPPER
from ripplenest.nrc.functions.scalars import SCALARS, apply, evaluate, result_type
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import canonical
from ripplenest.vector.column import Column, Failed
from ripplenest.vector.kernels import KERNELS, LAZY, column

FAILED = "no value"
MOST = 900
SOME = 200


def reference(fn, row):
    try:
        return apply(fn, *row)
    except EvaluationError:
        return FAILED


def shown(value):
    """Tells 1 from 1.0 and True, 0.0 from -0.0, 1.0 from 1.00, and one NaN from another."""
    return type(value).__name__, pack("d", value) if isinstance(value, float) else repr(value)


def values(column_, t):
    raw = column_.values.to_pylist()
    bad = column_.failed.rows if column_.failed else np.zeros(len(raw), bool)
    of_zone = (canonical(v, t) if isinstance(v, datetime) else v for v in raw)
    return [FAILED if b else v for v, b in zip(of_zone, bad, strict=True)]


def columns(rows, types):
    return [Column(pa.array([row[i] for row in rows], arrow_type(t))) for i, t in enumerate(types)]


def columns_over_edges(rows, types):
    """The same columns, with edge values behind NULL."""
    return [Column(over_edges([row[i] for row in rows], t)) for i, t in enumerate(types)]


def differing(fn, types, rows, columns=columns):
    result = result_type(fn, types)
    found = column(fn, columns(rows, types), types, result)
    assert found.values.type == arrow_type(result), (fn, types)
    got = values(found, result)
    wanted = [reference(fn, row) for row in rows]
    pairs = zip(rows, wanted, got, strict=True)
    return [(fn, [str(t) for t in types], row, w, g) for row, w, g in pairs if shown(w) != shown(g)], wanted


def test_the_tables_have_the_same_functions():
    assert {*KERNELS, *LAZY} == SCALARS.keys()
    assert LAZY.keys() == {name for name, s in SCALARS.items() if s.lazy}
    with pytest.raises(UnknownName, match="possible"):
        column("drop table", [], [], Base("int"))


def test_kernels_agree_with_the_reference_over_edge_values():
    wrong, failed, known = [], set(), set()
    for fn in SCALARS:
        for types in signatures(fn):
            rows = list(product(*([None, *EDGES[t]] for t in types)))
            rows = rows[:: len(rows) // MOST + 1]
            found, wanted = differing(fn, types, rows)
            wrong += found
            failed |= {fn} if FAILED in wanted else set()
            known |= {fn} if any(w not in (None, FAILED) for w in wanted) else set()
    assert not wrong, "\n".join(map(str, wrong[:20]))
    assert known == SCALARS.keys()
    kinds = ("int", "long")
    assert failed >= {"div_double", "to_int", "to_long", "to_date"}
    checked = ("add", "sub", "mul", "neg", "abs", "monus", "mod", "quotient")
    assert failed >= {f"{op}_{kind}" for op in checked for kind in kinds}


def test_no_kernel_reads_what_stands_behind_null():
    """The rows of a source are as whoever made them left them: what is NULL may have any bytes."""
    wrong = []
    for fn in SCALARS:
        for types in signatures(fn):
            rows = [row for row in product(*([*[None] * 3, *EDGES[t][:6]] for t in types)) if None in row]
            wrong += differing(fn, types, rows[:: len(rows) // SOME + 1], columns_over_edges)[0]
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_kernels_of_no_rows_and_of_one():
    for fn in SCALARS:
        types = signatures(fn)[0]
        for rows in ([], [tuple(EDGES[t][0] for t in types)], [(None,) * len(types)]):
            assert not differing(fn, types, rows)[0]


def test_case_mappings_agree_on_all_code_points():
    text = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rows = [(c,) for c in (*UPPER, *LOWER, *text[::97])]
    for fn in ("upper", "lower", "trim", "length"):
        assert not differing(fn, (Base("string", True),), rows)[0]


def test_substrings_and_patterns_in_each_row():
    texts = ["", "a", "a😀é", None, "abcabc"]
    rows = list(product(texts, [-7, -3, -1, 0, 1, 2, 9, None], [-2, 0, 1, 3, 99, None]))
    types = (Base("string", True), Base("int", True), Base("int", True))
    assert not differing("substring", types, rows)[0]
    for fn in ("starts_with", "ends_with", "contains"):
        assert not differing(fn, types[:1] * 2, list(product(texts, [*texts, "%", "bc", "."])))[0]


LAZY_CASES = ("and", "or", "if", "coalesce")


@pytest.mark.parametrize("fn", LAZY_CASES)
def test_lazy_functions_need_no_argument_that_is_not_asked(fn):
    """Each argument is true, false, NULL or has no value."""
    choices = (True, False, None, FAILED)
    rows = list(product(choices, repeat=3 if fn in ("if", "coalesce") else 2))
    types = (Base("bool", True),) * len(rows[0])
    args = []
    for i in range(len(types)):
        plain = [row[i] if row[i] is not FAILED else bool(n % 2) for n, row in enumerate(rows)]
        bad = np.array([row[i] is FAILED for row in rows])
        args.append(Column(pa.array(plain, pa.bool_()), Failed(bad, "made to fail")))
    got = values(column(fn, args, types, result_type(fn, types)), Base("bool", True))
    for row, found in zip(rows, got, strict=True):
        try:
            wanted = evaluate(fn, [_thunk(v) for v in row])
        except EvaluationError:
            wanted = FAILED
        assert found == wanted, (row, found, wanted)


def _thunk(value):
    def ask():
        if value is FAILED:
            raise EvaluationError("made to fail")
        return value

    return ask
