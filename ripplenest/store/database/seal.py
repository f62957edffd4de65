"""Digests over catalogue rows, so that a changed bit in the catalogue is noticed and not believed."""

import hashlib
import json

_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=repr)  # made once: each batch has many


def seal(*values: object) -> str:
    """sha256 of ``values`` (numbers, text, NULL) in one canonical form; any other value gives some other digest."""
    return hashlib.sha256(_CANONICAL.encode(values).encode()).hexdigest()
