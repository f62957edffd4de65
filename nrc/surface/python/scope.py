"""Where an expression is read: the names it sees, the function it stands in, and the limits of one view."""

import ast
import builtins
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType

from attrs import define, evolve, field, frozen

from ripplenest.nrc.errors import RipplenestError, TooBig, TooDeep, UnknownName, Unsupported
from ripplenest.nrc.limits import MAX_DEPTH, MAX_NODES
from ripplenest.nrc.surface.python.source import Located, Source, read_source
from ripplenest.nrc.surface.readings import Reading, Static
from ripplenest.nrc.surface.records import NotDefinedYet
from ripplenest.nrc.surface.rings import Moments, Ring
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import Names


@define
class Session:
    """What one view's reading shares: fresh names, the rings that its variables stand for, and the limits. ``read``
    reads one expression. Rows are ``as_declared``, or views that are called take what they are given."""

    read: "Callable[[ast.expr, Scope], Reading]"
    names: Names = field(factory=Names)
    rings: Mapping[str, Ring | Moments] = field(factory=dict)
    as_declared: bool = True
    open: set[str] = field(factory=set)
    depth: int = 0
    nodes: int = 0
    _sources: dict[FunctionType, Source] = field(factory=dict)

    def source(self, function: FunctionType) -> Source:
        """The source of a helper function, parsed once."""
        if function not in self._sources:
            self._sources[function] = read_source(function, None)
        return self._sources[function]

    def ring(self, name: str) -> Ring | Moments:
        """What the ring variable ``name`` stands for. Raises NotDefinedYet."""
        self.open.add(name)
        if name not in self.rings:
            got = ", ".join(self.rings) or "none"
            raise NotDefinedYet("the view leaves a ring open", wanted=name, got=got, possible=[f"view.over({name}=R)"])
        return self.rings[name]

    @contextmanager
    def level(self) -> Iterator[None]:
        """One syntax node, one level deep. Raises TooDeep or TooBig."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooBig("the view is too big", wanted=f"at most {MAX_NODES} nodes, helper functions included")
        if self.depth >= MAX_DEPTH:
            raise TooDeep("the view is nested too deeply", wanted=f"at most {MAX_DEPTH} levels")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


@frozen
class Scope:
    """``env``: parameters, assigned and bound names. ``later``: names that the function assigns, bound or not yet.
    Expressions are read in the order in which Python evaluates them, so ``x := e`` is known to all that comes after it.

    ``path``: the view's name and the fields around, of which sites are named. ``callers``: the functions being inlined.
    ``wanted``: the type of what is read, where something beside it says which.
    """

    source: Source
    session: Session
    path: tuple[str, ...]
    env: dict[str, Reading] = field(factory=dict)
    later: frozenset[str] = frozenset()
    callers: tuple[Hashable, ...] = ()
    wanted: Type | None = None

    def read(self, node: ast.expr, wanted: Type | None = None) -> Reading:
        """What ``node`` means here. An error that has no place yet gets the place of ``node``."""
        scope = self if self.wanted == wanted else evolve(self, wanted=wanted)
        with self.located(node), self.session.level():
            return self.session.read(node, scope)

    @contextmanager
    def located(self, node: Located) -> Iterator[None]:
        try:
            yield
        except RipplenestError as error:
            self.source.decorate(error, node)
            raise

    def bind(self, new: Mapping[str, Reading]) -> "Scope":
        return evolve(self, env={**self.env, **new})

    def assign(self, name: str, value: Reading) -> None:
        """x := e, for what is read here from now on; not for what is around."""
        self.env[name] = value

    def perhaps(self) -> "Scope":
        """The scope of what is not always evaluated: names that it assigns are known in it alone."""
        return self.bind({})

    def in_turn(self, nodes: Sequence[ast.expr]) -> Iterator[tuple[ast.expr, "Scope"]]:
        """The operands of ``and``, ``or`` or a chain of comparisons with their scopes: only the first is always
        evaluated, and each after those before it."""
        yield nodes[0], self
        rest = self.perhaps()
        yield from ((node, rest) for node in nodes[1:])

    def within(self, name: str) -> "Scope":
        return evolve(self, path=(*self.path, name))

    @property
    def site(self) -> str:
        """ι of an inner bag made here; sites that come out alike are numbered in the end."""
        return ".".join(self.path if len(self.path) > 1 else (*self.path, "item"))

    def fresh(self, hint: str) -> str:
        return self.session.names.fresh(hint)

    def look_up(self, name: str) -> Reading:
        """Raises UnknownName with the names there are."""
        if name in self.env:
            return self.env[name]
        if name in self.later:
            what = "this name is assigned further down only, or not always"
            raise UnknownName(what, got=name, possible=sorted(self.env))
        if name == self.source.tree.name and name in vars(builtins):  # Python's own, until the view has that name
            possible = [f"another name of the function; `v.over({name!r})` is the view by this one"]
            raise Unsupported(f"a view cannot contain {name}, which it is called itself", possible=possible)
        try:
            return Static(self.source.resolve(name))
        except UnknownName as error:
            error.possible = (*sorted(self.env), *(error.possible or ()))
            raise

    def enter(self, source: Source, env: Mapping[str, Reading]) -> "Scope":
        """The scope of another function's body. Raises Unsupported for recursion."""
        if source.function in self.callers:
            what = f"{source.code.co_qualname}, which calls itself,"
            possible = ["comprehensions within each other, one for each level that there can be"]
            raise Unsupported(f"a view cannot contain {what}", possible=possible)
        later = frozenset(t.id for s in source.tree.body for t in (*_targets(s), *_named(s)))
        return evolve(self, source=source, env={**env}, later=later, callers=(*self.callers, source.function))


def _targets(statement: ast.stmt) -> Iterator[ast.Name]:
    match statement:
        case ast.Assign(targets):
            yield from (t for t in targets if isinstance(t, ast.Name))
        case ast.AnnAssign(ast.Name() as target):
            yield target
        case ast.If(_, body, orelse):
            for inner in (*body, *orelse):
                yield from _targets(inner)


def _named(node: ast.AST) -> Iterator[ast.Name]:
    """x of each ``x := e``, but for those in a lambda, whose own they are."""
    if isinstance(node, ast.NamedExpr):
        yield node.target
    if not isinstance(node, ast.Lambda):
        for inner in ast.iter_child_nodes(node):
            yield from _named(inner)
