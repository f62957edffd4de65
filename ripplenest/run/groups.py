"""The per-key step: contributions by key, the stored row of each key, ⊖old ⊎ new.

What contributions add up to does not depend on their order, nor on how a batch is split: accumulators are sums of
integers. A key is there while rows of it are, whatever they come to. Law (fold_any_order), and the rows of a key are
those of the fold's own meaning over all rows of it (``nrc/functions/folds.py``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from math import isfinite, isnan, prod
from typing import Any, assert_never

import pyarrow as pa
from attrs import frozen

from ripplenest.data.grouping import stretches
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError, LawBroken, RipplenestError, shown
from ripplenest.nrc.functions import folds, integers, reals
from ripplenest.nrc.functions.meanings import EXACT
from ripplenest.plan.evaluate import value
from ripplenest.plan.groups import Accumulator, Answered, Folding
from ripplenest.plan.planned import Called, PlannedMap
from ripplenest.run.answers import seen_change
from ripplenest.run.sizes import are_few
from ripplenest.vector import folding

ENCODED: Mapping[str, Callable[[int], bytes]] = {"real": reals.encoded, "endless": integers.encoded}
DECODED: Mapping[str, Callable[[Any], int]] = {"real": reals.decoded, "endless": integers.decoded}
STRETCH = 1 << 18  # contributions that are folded at once, where those of a key come together


@frozen
class Folded:
    """The change of the rows of a group, and of what readers see of them; of a sum map nobody asks for the latter."""

    change: Rows
    seen: Rows


def folded(m: PlannedMap, f: Folding, made: Rows, stored: Rows, in_pieces: bool = False) -> Folded:
    """What contributions, maybe ``in_pieces``, change in a group, of whose keys the rows ``stored`` are there. Raises
    EvaluationError for an answer beyond its type, and LawBroken for rows that are there less than 0 times."""
    if not len(made):
        return Folded(Rows.empty(m.types), Rows.empty(f.visible))
    found = None if are_few([made, stored]) else folding.sums(f, m.near, made, stored, in_pieces)
    if found is None:
        change = _by_rows(m, f, made, stored, in_pieces)
        return Folded(change, seen_change(f, change) if m.kind.passes_on else Rows.empty(f.visible))
    _there(m, [int(found.new[0].min(initial=0))])
    try:
        return Folded(folding.change(f, found), folding.seen(f, found) if m.kind.passes_on else Rows.empty(f.visible))
    except EvaluationError:
        _by_rows(m, f, made, stored, in_pieces)  # who says of which key it is
        raise


def built(m: PlannedMap, f: Folding, made: Rows, in_pieces: bool = False) -> Rows:
    """The rows of a group that contributions ``made``, maybe ``in_pieces``, are all of, folded as ``f`` says; what
    comes in the order of its keys is folded in stretches."""
    table, nothing = made.arrow(), Rows.empty(m.types)
    parts = [
        folded(m, f, Rows(made.types, table=table.slice(first, end - first)), nothing, in_pieces).change
        for first, end in stretches(table, m.near, STRETCH)
    ]
    if len(parts) == 1:
        return parts[0]
    return Rows(m.types, table=pa.concat_tables([part.arrow() for part in parts]), summed=True)


def _by_rows(m: PlannedMap, f: Folding, made: Rows, stored: Rows, in_pieces: bool) -> Rows:
    before = {row[: f.keys]: row for row in stored.consolidated().counts()}
    sums = {key: _ints(f.accumulators, row[len(f.visible) :]) for key, row in before.items()}
    touched = (pieces_by_rows if in_pieces else added_by_rows)(f, made)
    pairs: list[tuple[Row, int]] = []
    for key, change in touched.items():
        after = [a + b for a, b in zip(sums.get(key, [0] * len(change)), change, strict=True)]
        pairs += [(before[key], -1)] if key in before else []
        pairs += [(_row(m, f, key, after), 1)] if _there(m, after) else []
    return Rows.of_pairs(m.types, pairs).consolidated()


def added_by_rows(f: Folding, made: Rows) -> dict[Row, list[int]]:
    """By key what contributions add to each accumulator."""
    touched: dict[Row, list[int]] = {}
    for row, n in made.counts().items():
        own = touched.setdefault(row[: f.keys], [0] * len(f.accumulators))
        for i, a in enumerate(f.accumulators):
            own[i] += n * _added(a, row, f)
    return touched


def pieces_by_rows(f: Folding, pieces: Rows) -> dict[Row, list[int]]:
    """The same of pieces."""
    touched: dict[Row, list[int]] = {}
    for row, n in pieces.counts().items():
        own = touched.setdefault(row[: f.keys], [0] * len(f.accumulators))
        own[:] = [a + n * b for a, b in zip(own, _ints(f.piece_sums, row[f.keys :]), strict=True)]
    return touched


def _row(m: PlannedMap, f: Folding, key: Row, sums: Sequence[int]) -> Row:
    """What is stored of a key. Raises EvaluationError, which says of which group and key."""
    try:
        return (*key, *_shown(f, sums), *kept(f.accumulators, sums))
    except EvaluationError as error:
        raise error if m.called is None else _placed(error, m.called, f, key, sums) from None


def _placed(error: EvaluationError, called: Called, f: Folding, key: Row, sums: Sequence[int]) -> RipplenestError:
    """``error``, of the folds that have no answer, or else of all."""
    folds = [text for a, text in zip(f.answers, called.folds, strict=True) if _fails(a, sums)] or called.folds
    names = zip(called.key, key, strict=True)
    where = f"view {called.view}, {', '.join(folds)}"
    return error.at(where).of_row(", ".join(f"{name} {shown(v)}" for name, v in names))


def _fails(a: Answered, sums: Sequence[int]) -> bool:
    try:
        _answer(a, sums)
    except EvaluationError:
        return True
    return False


def _ints(accumulators: Sequence[Accumulator], values: Sequence[Any]) -> list[int]:
    """Accumulators as integers; those of doubles in units."""
    return [DECODED.get(a.of, int)(x) for a, x in zip(accumulators, values, strict=True)]


def _there(m: PlannedMap, sums: Sequence[int]) -> bool:
    if sums[0] < 0:
        raise LawBroken("a group of rows that are there less than 0 times", where=m.name, got=sums[0])
    return sums[0] > 0


def _added(a: Accumulator, row: Row, f: Folding) -> int:
    """What a row adds, once."""
    values: Sequence[Any] = [row[i] for i in a.args]
    match a.of:
        case "rows":
            return int(None not in values)
        case "true":
            return int(all(v is True for v in values))
        case "sum" | "endless":
            if None in values:
                return 0
            return prod(_digits(v, f.made[i].scale) for i, v in zip(a.args, values, strict=True))
        case "real":
            return reals.units(values[0]) if values[0] is not None and isfinite(values[0]) else 0
        case "nan":
            return int(values[0] is not None and isnan(values[0]))
        case "inf" | "-inf":
            return int(values[0] == float(a.of))
        case _:
            assert_never(a.of)


def _digits(value: Any, scale: int) -> int:
    return int(value.scaleb(scale, EXACT))  if isinstance(value, Decimal) else int(value)


def _shown(f: Folding, sums: Sequence[int]) -> Iterable[object]:
    """What readers see of the answers, if anybody does."""
    if f.is_endless:
        return ()
    found = tuple(_answers(f, sums))
    return found if f.is_plain else (value(s, {0: found}) for s in f.shown)


def _answers(f: Folding, sums: Sequence[int]) -> Iterable[object]:
    """The answers of a key whose accumulators are ``sums``."""
    return (_answer(a, sums) for a in f.answers)


def _answer(a: Answered, sums: Sequence[int]) -> object:
    """Raises EvaluationError for an answer beyond its type."""
    n = sums[a.count]
    if a.fn == "any":
        return n > 0
    if a.fn == "all":
        return n == sums[0]
    if a.total is None:
        return folds.within(n, a.type)
    if n == 0:
        return None
    if a.special is not None:
        nan, above, below = (sums[i] for i in a.special)
        return reals.answer(sums[a.total], n if a.fn == "avg" else 1, nan, above, below)
    total = sums[a.total]
    return folds.unscaled(total, a.type) if a.fn == "sum" else folds.mean(total, n, a.scale, a.type)


def kept(accumulators: Sequence[Accumulator], sums: Sequence[int]) -> Iterable[object]:
    """Accumulators as they are stored. Raises EvaluationError for one of more digits than that holds."""
    for a, n in zip(accumulators, sums, strict=True):
        yield ENCODED[a.of](n) if a.of in ENCODED else folds.unscaled(n, a.type)
