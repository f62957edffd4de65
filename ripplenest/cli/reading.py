"""The rows of views and relations, and what changed in them: ``show`` and ``changes``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ripplenest.cli.output import Json, counted, json_text, print_json, printable
from ripplenest.cli.states import Catalogue, Name, State, handle, heard, moment, open_state, version_at, warned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ripplenest.api.handles import RelationHandle, ViewHandle

MOMENT = "N|SOURCE:SEQ"
_AS_OF = "The rows as they were at a version, or after a batch."
AsOf = Annotated[Any, typer.Option("--as-of", metavar=MOMENT, parser=moment, help=_AS_OF)]
Since = Annotated[Any, typer.Option(metavar=MOMENT, parser=moment, help="The version or batch after which.")]
Nested = Annotated[bool, typer.Option("--nested", help="The nested rows that went (-) and came (+); without Spark.")]


def show(state: State, name: Name, as_of: AsOf = None, as_json: Json = False, catalogue: Catalogue = None) -> None:
    """Print the rows of a view or relation, nested, one JSON object per line."""
    with open_state(state, catalogue) as db:
        what, found = handle(db, name)
        version = version_at(db, as_of)
        rows = found.as_of(version).rows()
    if as_json:
        print_json({what: name, "version": version, "rows": rows})
        return
    for row in rows:
        print(json_text(row))


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
        what, found = handle(db, name)
        start, version = version_at(db, since), version_at(db, as_of)
        kept = found.as_of(version)
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
    return {"flat": _rows(delta.flat), "dictionaries": {site: _rows(df) for site, df in delta.dictionaries.items()}}


def _rows(df: "DataFrame") -> list[Mapping[str, Any]]:
    return [row.asDict(recursive=True) for row in df.collect()]


def _print_shredded(tables: Mapping[str, Any]) -> None:
    for name, rows in {"flat": tables["flat"], **tables["dictionaries"]}.items():
        print(f"{printable(name)}: {counted(len(rows), 'changed row')}")
        for row in rows:
            print(f"  {json_text(row)}")
