"""What is pinned, as text: how one process hands it to another, which then needs no catalogue and no password."""

import json
from typing import Any

from attrs import evolve

from ripplenest.nrc.errors import WrongValue
from ripplenest.source.pinned import Pinned
from ripplenest.state.stored import (
    STORED,
    StoredShape,
    relation_of,
    relation_text,
    shape_of_stored,
    stored_shape,
)
from ripplenest.store.detached import Detached
from ripplenest.store.ref import ref_of_json, ref_to_json
from ripplenest.version.folding import Fold


def handed(found: Pinned) -> str:
    """As JSON. Law: taken(handed(p)) = p."""
    tables, shape = found.tables, found.shape
    return json.dumps({
        "folder": tables.folder,
        "version": tables.version,
        "refs": [ref_to_json(ref) for ref in tables.refs.values()],
        "since": tables.since,
        "deltas": [ref_to_json(ref) for ref in tables.deltas.values()],
        "shape": [shape.name, shape.fingerprint, STORED.unstructure(stored_shape(shape))],
        "found_by": {site: list(columns) for site, columns in shape.found_by.items()},
        "folds": [[fold.relation.name, relation_text(fold.relation), fold.root] for fold in found.folds],
        "layout": found.layout,
        "site": found.site,
        "signed": found.signed,
    })  # fmt: skip


def taken(text: str) -> Pinned:
    """What was handed. Raises WrongValue for anything else."""
    try:
        return _taken(json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise WrongValue("not what was handed on", where="ripplenest: handed", got=type(error).__name__) from error


def _taken(found: dict[str, Any]) -> Pinned:
    refs, deltas = ({r.spec.name: r for r in map(ref_of_json, found[name])} for name in ("refs", "deltas"))
    name, fingerprint, stored = found["shape"]
    shape = shape_of_stored(name, fingerprint, STORED.structure(stored, StoredShape))
    shape = evolve(shape, found_by={site: tuple(columns) for site, columns in found["found_by"].items()})
    folds = tuple(Fold(relation_of(relation, text), root) for relation, text, root in found["folds"])
    tables = Detached(found["folder"], found["version"], refs, found["since"], deltas)
    return Pinned(tables, shape, folds, found["layout"], found["site"], found["signed"])
