"""The rows of views and relations, and what changed in them: ``show`` and ``changes``."""

import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ripplenest.cli.output import Json, counted, json_text, print_json, printable
from ripplenest.cli.states import Catalogue, Name, State, handle, heard, moment, open_state, version_at, warned

if TYPE_CHECKING:

    from ripplenest.api.handles import RelationHandle, ViewHandle

MOMENT = "N|SOURCE:SEQ"
ORDERED = 1_000  # flat rows up to which all rows are put in order before the first is printed
VALUES: dict[str, Callable[[str], object]] = {  # by kind of a field, how a value is read that a shell gives
    "string": str, "int": int, "long": int, "double": float, "decimal": Decimal, "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat, "binary": str.encode, "bool": {"true": True, "false": False}.__getitem__,
}  # fmt: skip
_AS_OF = "The rows as they were at a version, or after a batch."
AsOf = Annotated[Any, typer.Option("--as-of", metavar=MOMENT, parser=moment, help=_AS_OF)]
Limit = Annotated[int | None, typer.Option(min=0, help="At most so many rows: of what is sorted the first.")]
_KEY = "The one row with this field, or these; of a relation its key is the fast way."
Key = Annotated[list[str] | None, typer.Option(metavar="FIELD=VALUE", help=_KEY)]
_WHERE = "All rows with this field, or these; those in which it is NULL by FIELD alone."
Where = Annotated[list[str] | None, typer.Option(metavar="FIELD[=VALUE]", help=_WHERE)]
Since = Annotated[Any, typer.Option(metavar=MOMENT, parser=moment, help="The version or batch after which.")]
Nested = Annotated[bool, typer.Option("--nested", help="The nested rows that went (-) and came (+); without Spark.")]


def show(
    state: State,
    name: Name,
    as_of: AsOf = None,
    limit: Limit = None,
    key: Key = None,
    where: Where = None,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Print the rows of a view or relation, nested, one JSON object per line.

    Sorted where a view says how; else few rows come in the order of their values, and many as they are stored, as soon
    as they are read. Where there are none, stderr says so.
    """
    if key and (where or limit is not None):
        raise typer.BadParameter("one row, or some", param_hint=f"{'--where' if where else '--limit'}, --key")
    with open_state(state, catalogue) as db:
        version = version_at(db, as_of)
        what, found = handle(db, name, version)
        rows = _asked(found, limit, key or [], where or [])
        if as_json:
            print_json({what: name, "version": version, "rows": list(rows)})
            return
        is_some = limit == 0
        for row in rows:
            is_some = True
            print(json_text(row))
    if not is_some:
        asked = " with these values" if key or where else ""
        print(printable(f"no rows of {what} {name}{asked} at version {version}"), file=sys.stderr)


def _asked(found: "RelationHandle | ViewHandle", limit: int | None, key: list[str], where: list[str]) -> Iterator[Any]:
    """The one row with a key, or those where fields have values, or all; at most ``limit``."""
    if key:
        row = found.get(**_fields(found, key, "--key"))
        return iter(() if row is None else (row,))
    if where:
        return islice(found.where(**_fields(found, where, "--where")), limit)
    return _some(found) if limit is None else iter(found.limit(limit))


def _some(found: "RelationHandle | ViewHandle") -> Iterator[Any]:
    """All rows: of many a piece at a time, which takes a tenth of the time that it takes to put them in order."""
    if found.size <= ORDERED:
        yield from found.rows()
        return
    is_record = hasattr(found.shape.row, "fields")
    for batch in found.batches():
        for row in batch.to_pylist():
            yield row if is_record else row["value"]


def _fields(found: "RelationHandle | ViewHandle", given: list[str], option: str) -> dict[str, object]:
    """``FIELD=VALUE`` as values of the types that the fields have. Raises typer.BadParameter, also for a field that is
    there twice; fields that are not there are told by who looks for them."""
    types = dict(getattr(found.shape.row, "fields", ()))
    fields = [_field(text, types, option) for text in given]
    if len(dict(fields)) < len(fields):
        raise typer.BadParameter("two values of one field", param_hint=option)
    return dict(fields)


def _field(text: str, types: Mapping[str, Any], option: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals and option == "--where":
        return name, None
    kind = getattr(types.get(name), "kind", "string")
    read = VALUES.get(kind)
    try:
        if not equals or read is None:
            raise ValueError(text)
        return name, read(value)
    except (ValueError, KeyError, ArithmeticError) as error:
        wanted = f"{name}=VALUE with a {kind}" if equals else "FIELD=VALUE"
        raise typer.BadParameter(f"{printable(text)} is not {wanted}", param_hint=option) from error


def changes(
    state: State,
    name: Name,
    since: Since,
    as_of: AsOf = None,
    nested: Nested = False,
    as_json: Json = False,
    catalogue: Catalogue = None,
) -> None:
    """Print what changed in a view or relation.

    Signed rows of its flat part and, by label, of its dictionaries. With --nested the nested rows that were touched,
    however deep inside: as they were (-), and as they are (+).
    """
    with open_state(state, catalogue) as db:
        start, version = version_at(db, since), version_at(db, as_of)
        what, kept = handle(db, name, version)
        tables = _nested(kept, start) if nested else _shredded(kept, start)
    if as_json:
        print_json({what: name, "since": start, "version": version, **tables})
    elif nested:
        for sign, rows in zip("-+", tables.values(), strict=True):
            for row in rows:
                print(f"{sign} {json_text(row)}")
    else:
        _print_shredded(tables)


def _nested(found: "RelationHandle | ViewHandle", since: int) -> dict[str, list[Any]]:
    (went, came), said = heard(lambda: found.changed_rows(since))
    warned(said)
    return {"went": went, "came": came}


def _shredded(found: "RelationHandle | ViewHandle", since: int) -> dict[str, Any]:
    delta = found.changes(since)
    inner = {site: rows.to_pylist() for site, rows in delta.dictionaries_to_arrow().items()}
    return {"flat": delta.flat_to_arrow().to_pylist(), "dictionaries": inner}


def _print_shredded(tables: Mapping[str, Any]) -> None:
    for name, rows in {"flat": tables["flat"], **tables["dictionaries"]}.items():
        print(f"{printable(name)}: {counted(len(rows), 'changed row')}")
        for row in rows:
            print(f"  {json_text(row)}")
