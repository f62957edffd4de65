"""``{k: sum(i.n for i in o.items if i.kind == k) for k in KINDS}``: a record with a field for each of some constants,
as it would be written out. What it goes through is known when the view is made, and so are the names of the fields."""

import ast
from collections.abc import Callable, Iterator, Sequence

from ripplenest.nrc.interpret import elem
from ripplenest.nrc.surface.python import choices, constants, hints
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element, Reading, Static
from ripplenest.nrc.types import EXISTS, STRING
from ripplenest.nrc.walk import free_vars

Read = Callable[[ast.expr, Scope], Reading]
ROWS = "a bag of records, `[{'key': ..., 'value': ...} for x in xs]`"
NAMES = "the names of fields are texts that are known when the view is made"


def fields(node: ast.DictComp, read: Read, scope: Scope) -> Iterator[tuple[str, Scope]]:
    """The name of each field, and the scope in which its value is read; what it goes through is ``read``. Raises
    Unsupported for names and conditions that rows decide."""
    return ((_name(node.key, inner), inner) for inner in _scopes(node, node.generators, read, scope))


def _scopes(
    node: ast.DictComp, generators: Sequence[ast.comprehension], read: Read, scope: Scope
) -> Iterator[Scope]:
    """With what each ``for`` goes through in its turn."""
    if not generators:
        yield scope
        return
    first, *others = generators
    for element in _elements(node, first, read, scope):
        inner = scope.bind(dict(_named(first.target, element, scope)))
        if all(_is_so(test, inner) for test in first.ifs):
            yield from _scopes(node, others, read, inner)


def _elements(
    node: ast.DictComp, generator: ast.comprehension, read: Read, scope: Scope
) -> Sequence[ast.expr]:
    """What is written out, or a collection of constants. Raises Unsupported for all else."""
    match generator:
        case ast.comprehension(_, ast.Tuple(elts) | ast.List(elts) | ast.Set(elts), is_async=0):
            return elts
        case ast.comprehension(_, source, is_async=0):
            found = read(source, scope)
            rows = constants.rows(found.value, source) if isinstance(found, Static) else None
            if rows is not None:
                return rows.elts
    raise hints.of_node(node)


def _named(target: ast.expr, element: ast.expr, scope: Scope) -> Iterator[tuple[str, Reading]]:
    match target, element:
        case ast.Name(name), _:
            yield name, scope.read(element)
        case ast.Tuple(names) | ast.List(names), ast.Tuple(parts) | ast.List(parts) if len(names) == len(parts):
            for own, part in zip(names, parts, strict=True):
                yield from _named(own, part, scope)
        case _:
            with scope.located(target):
                raise hints.unsupported("this as the target of a for", "as many names as there are parts")


def _is_so(test: ast.expr, scope: Scope) -> bool:
    found = choices.truth(test, scope)
    if not _is_known(found):
        with scope.located(test):
            raise hints.unsupported("a field that rows decide", "`... if x.n else None` as its value")
    return elem(found.elem, {}) is True


def _is_known(found: Element) -> bool:
    return not found.binds and not free_vars(found.elem)


def _name(key: ast.expr, scope: Scope) -> str:
    match scope.read(key):
        case Element(type=type) as found if type == STRING and _is_known(found):
            if (name := str(elem(found.elem, {}))) != EXISTS:
                return name
    with scope.located(key):
        raise hints.unsupported("a key that rows decide, or that is no text", f"{ROWS}; {NAMES}")
