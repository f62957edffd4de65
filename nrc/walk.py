"""Children, rebuilding, substitution and free variables: the one place that knows the shape of every node.

Passes that treat most constructs alike use ``rebuild``; no other module matches on all constructs just to recurse.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_
from typing import Any, assert_never, get_args, get_type_hints

from attrs import evolve, field, frozen

from ripplenest.nrc.syntax import (
    PRIME,
    Apply,
    At,
    Call,
    DictEmpty,
    DictExpr,
    DictLit,
    DictPlus,
    DictRel,
    DictUnion,
    Elem,
    Empty,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Grouped,
    GroupRel,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    Order,
    OutL,
    Placed,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Term,
    Top,
    Total,
    Tuple,
    Var,
    Weigh,
)

Fields = tuple[tuple[str, Elem], ...]
_ELEMENTS = get_args(Elem)  # in which no let-variable can be


def rebuild_elem(t: Elem, f: Callable[[Elem], Elem]) -> Elem:
    """``t`` with ``f`` applied to its direct children."""
    match t:
        case Var() | Lit():
            return t
        case Proj(of, name):
            inner = f(of)
            return t if inner is of else Proj(inner, name)
        case Call(fn, args):
            changed = tuple(map(f, args))
            return t if _same(changed, args) else Call(fn, changed)
        case Tuple(fields):
            named = _each(fields, f)
            return t if named is fields else Tuple(named)
        case InL(site, args):
            named = _each(args, f)
            return t if named is args else InL(site, named)
        case OutL(label, site, param):
            inner = f(label)
            return t if inner is label else OutL(inner, site, param)
        case IsSite(label, site):
            inner = f(label)
            return t if inner is label else IsSite(inner, site)
        case _:
            assert_never(t)


def _each(named: Fields, f: Callable[[Elem], Elem]) -> Fields:
    """What has names, with ``f`` applied to it."""
    changed = tuple((n, f(a)) for n, a in named)
    return named if all(a is b for (_, a), (_, b) in zip(changed, named, strict=True)) else changed


def _same(a: tuple[Elem, ...], b: tuple[Elem, ...]) -> bool:
    """Whether nothing was changed: then a node stays the same object, and so does what is known of it."""
    return all(map(is_, a, b))


def rebuild(e: Expr, f: Callable[[Expr], Expr], t: Callable[[Elem], Elem], d: Callable[[DictExpr], DictExpr]) -> Expr:
    """``e`` with ``f``, ``t`` and ``d`` applied to its direct children of each sort. Binders are not renamed."""
    match e:
        case Rel() | LetVar() | Empty():
            return e
        case Let(name, bound, body):
            inner, below = f(bound), f(body)
            return e if inner is bound and below is body else Let(name, inner, below)
        case For(var, source, body):
            inner, below = f(source), f(body)
            return e if inner is source and below is body else For(var, inner, below)
        case Pred(cond):
            changed = t(cond)
            return e if changed is cond else Pred(changed)
        case Weigh(count):
            changed = t(count)
            return e if changed is count else Weigh(changed)
        case Sng(elem):
            changed = t(elem)
            return e if changed is elem else Sng(changed)
        case SngBag(site, body, order):
            inner = f(body)
            return e if inner is body else SngBag(site, inner, order)
        case Flatten(of):
            inner = f(of)
            return e if inner is of else Flatten(inner)
        case Product(left, right):
            inner, below = f(left), f(right)
            return e if inner is left and below is right else Product(inner, below)
        case Plus(left, right):
            inner, below = f(left), f(right)
            return e if inner is left and below is right else Plus(inner, below)
        case Neg(of):
            inner = f(of)
            return e if inner is of else Neg(inner)
        case Apply(dictionary, label):
            found, changed = d(dictionary), t(label)
            return e if found is dictionary and changed is label else Apply(found, changed)
        case Group() | Top():
            return rebuild_group(e, f, t)
        case _:
            assert_never(e)


def rebuild_group(g: Group | Top, f: Callable[[Expr], Expr], t: Callable[[Elem], Elem]) -> Group | Top:
    """``g`` with ``f`` applied to what it is about, and ``t`` to what reads its variable: its keys and the arguments of
    its folds, or what its rows are ordered by."""
    of = f(g.of)
    if isinstance(g, Top):
        by = tuple(t(o.by) for o in g.order)
        if of is g.of and _same(by, tuple(o.by for o in g.order)):
            return g
        return evolve(g, of=of, order=tuple(evolve(o, by=b) for o, b in zip(g.order, by, strict=True)))
    keys, folds = g.keys and _each(g.keys, t), tuple(_refold(x, t) for x in g.folds)
    unchanged = of is g.of and keys is g.keys and all(map(is_, folds, g.folds))
    return g if unchanged else Group(g.site, g.var, of, keys, folds)


def _refold(fold: Fold, t: Callable[[Elem], Elem]) -> Fold:
    args = tuple(map(t, fold.args))
    return fold if _same(args, fold.args) else evolve(fold, args=args)


def rebuild_dict(e: DictExpr, f: Callable[[Expr], Expr], d: Callable[[DictExpr], DictExpr]) -> DictExpr:
    """``e`` with ``f`` and ``d`` applied to its direct children."""
    match e:
        case DictRel() | DictEmpty():
            return e
        case DictLit(site, var, body):
            inner = f(body)
            return e if inner is body else DictLit(site, var, inner)
        case DictPlus(left, right):
            above, below = d(left), d(right)
            return e if above is left and below is right else DictPlus(above, below)
        case DictUnion(left, right):
            above, below = d(left), d(right)
            return e if above is left and below is right else DictUnion(above, below)
        case _:
            assert_never(e)


def children(term: Term) -> tuple[Term, ...]:
    """The direct children of a term, in the order of its fields."""
    fields = _FIELDS[type(term)]
    if not fields:
        return ()
    found: list[Term] = []
    for name in fields:
        value = getattr(term, name)
        if type(value) is tuple:
            for member in value:
                found += _members(member)
        elif value is not None:
            found.append(value)
    return tuple(found)


def _members(member: Any) -> Iterable[Term]:
    """The terms of what a tuple holds: terms, with names or without, folds, and what rows are ordered by."""
    if type(member) is Fold:
        return member.args
    if type(member) is Order:
        return (member.by,)
    return (member[1] if type(member) is tuple else member,)


def _holds_terms(hint: object) -> bool:
    """Whether a field of this type has terms in it."""
    return hint in (Fold, Order) or hint in get_args(Term) or any(map(_holds_terms, get_args(hint)))


_FIELDS = {
    kind: tuple(name for name, hint in get_type_hints(kind).items() if _holds_terms(hint)) for kind in get_args(Term)
}
_FIELDS |= {Placed: (), Grouped: (), Total: (), GroupRel: ()}  # constants that are no part of the term


def nodes(term: Term) -> Iterator[Term]:
    """Every node of ``term``, parents first. Iterative, so that deep terms do not exhaust the stack."""
    todo = [term]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(children(node)))


def replace_elem(t: Elem, env: Mapping[str, Elem]) -> Elem:
    """``t`` with variables replaced by ``env``."""
    if isinstance(t, Var):
        return env.get(t.name, t)
    if env.keys().isdisjoint(free_vars(t)):
        return t
    return rebuild_elem(t, lambda a: replace_elem(a, env))


def replace_part(t: Elem, part: Elem, value: Elem) -> Elem:
    """``t`` with ``value`` wherever it has ``part``."""
    return value if t == part else rebuild_elem(t, lambda a: replace_part(a, part, value))


def replace(e: Expr, env: Mapping[str, Elem]) -> Expr:
    """``e[env]``: for-variables replaced. Binders inside ``e`` must not bind names that are free in ``env``'s terms."""
    inner = env
    match e:
        case For(var, _, _):
            inner = {n: t for n, t in env.items() if n != var}
            return For(var, replace(e.source, env), replace(e.body, inner))
        case Group(_, var) | Top(_, var):
            inner = {n: t for n, t in env.items() if n != var}
            return rebuild_group(e, lambda c: replace(c, env), lambda t: replace_elem(t, inner))
        case _:
            return rebuild(e, lambda c: replace(c, env), lambda t: replace_elem(t, env), lambda d: replace_dict(d, env))


def replace_dict(e: DictExpr, env: Mapping[str, Elem]) -> DictExpr:
    """``e[env]`` for a dictionary."""
    if isinstance(e, DictLit):
        inner = {n: t for n, t in env.items() if n != e.var}
        return DictLit(e.site, e.var, replace(e.body, inner))
    return rebuild_dict(e, lambda c: replace(c, env), lambda d: replace_dict(d, env))


def at_sites(e: Expr, site: Callable[[str], str]) -> Expr:
    """``e`` with its groups at other sites."""
    inner = rebuild(e, lambda c: at_sites(c, site), lambda t: t, lambda d: d)
    return evolve(inner, site=site(inner.site)) if isinstance(inner, Group | Top) else inner


def replace_let(e: Expr, name: str, by: Expr) -> Expr:
    """``e[X := by]`` for a let-variable; binders inside ``e`` must not bind names that are free in ``by``."""

    def again(c: Expr) -> Expr:
        return replace_let(c, name, by)

    def dictionary(d: DictExpr) -> DictExpr:
        return rebuild_dict(d, again, dictionary)

    match e:
        case LetVar(found) if found == name:
            return by
        case Let(inner, bound, body) if inner == name:
            return Let(inner, again(bound), body)
        case _:
            return rebuild(e, again, lambda t: t, dictionary)


def read_by(terms: Iterable[Term]) -> frozenset[str]:
    """The element variables that any of them reads."""
    return frozenset[str]().union(*map(free_vars, terms))


def free_vars(term: Term) -> frozenset[str]:
    """The for-variables (context Π) that occur free in ``term``; found once for each node."""
    found: frozenset[str] | None = getattr(term, "free", None)
    if found is None:
        found = _free_vars(term)
        object.__setattr__(term, "free", found)
    return found


def _free_vars(term: Term) -> frozenset[str]:
    match term:
        case Var(name):
            return frozenset((name,))
        case For(var, source, body):
            return free_vars(source) | (free_vars(body) - {var})
        case Group(_, var, of) | Top(_, var, of):
            inner = (free_vars(c) for c in children(term) if c is not of)
            return free_vars(of) | (frozenset().union(*inner) - {var})
        case DictLit(_, var, body):
            return free_vars(body) - {var}
        case _:
            return frozenset().union(*(free_vars(c) for c in children(term)))


def free_lets(term: Term) -> frozenset[str]:
    """The let-variables (context Γ) that occur free in ``term``; found once for each node."""
    found: frozenset[str] | None = getattr(term, "free_lets", None)
    if found is None:
        found = _free_lets(term)
        object.__setattr__(term, "free_lets", found)
    return found


def _free_lets(term: Term) -> frozenset[str]:
    match term:
        case LetVar(name):
            return frozenset((name,))
        case Let(name, bound, body):
            return free_lets(bound) | (free_lets(body) - {name})
        case _:
            return frozenset().union(*(free_lets(c) for c in children(term) if not isinstance(c, _ELEMENTS)))


class Names:
    """Fresh names that do not depend on hashing or on earlier runs: x, x1, x2, …"""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        base = hint.rstrip("0123456789") or hint
        name = hint
        while name in self._taken:
            self._next[base] = self._next.get(base, 0) + 1
            name = f"{base}{self._next[base]}"
        self._taken.add(name)
        return name


def free_names(e: Expr) -> tuple[Names, Names]:
    """Names of variables, and of sites, that ``e`` does not have."""
    every = [*nodes(e)]
    variables = frozenset(n.var for n in every if isinstance(n, For | Group | Top))
    return Names(variables), Names(frozenset(n.site for n in every if isinstance(n, Group | SngBag | Top)))


class _Numbered(Names):
    """Names by the order in which they are asked for, which nobody else has."""

    def fresh(self, hint: str) -> str:  # noqa: ARG002 - what a variable was called does not matter
        return super().fresh("#")


_MARKS = f"{At.DELTA.value}{PRIME}{At.NEW.value}"


@frozen
class _Apart:
    """The renaming that is in force at one place of a term."""

    names: Names
    pi: Mapping[str, Elem] = field(factory=dict)
    gamma: Mapping[str, str] = field(factory=dict)
    plain: bool = False

    def bind(self, var: str, name: str) -> "_Apart":
        """Of a variable that keeps its name nothing has to be known, where no other one of its name is around."""
        if var == name and var not in self.pi:
            return self
        return _Apart(self.names, {**self.pi, var: Var(name)}, self.gamma, self.plain)

    def elem(self, t: Elem) -> Elem:
        return replace_elem(t, self.pi) if self.pi else t

    def expr(self, e: Expr) -> Expr:
        match e:
            case For(var, source, body):
                name = self.names.fresh(var)
                inner, below = self.expr(source), self.bind(var, name).expr(body)
                return e if name == var and inner is source and below is body else For(name, inner, below)
            case Let(old, bound, body):
                name = self.names.fresh(old.strip(_MARKS) if self.plain else old)
                inner, below = self.expr(bound), evolve(self, gamma={**self.gamma, old: name}).expr(body)
                return e if name == old and inner is bound and below is body else Let(name, inner, below)
            case LetVar(old):
                return LetVar(self.gamma[old]) if self.gamma.get(old, old) != old else e
            case Group() | Top():
                name = self.names.fresh(e.var)
                inside = rebuild_group(e, self.expr, self.bind(e.var, name).elem)
                return evolve(inside, var=name)
            case _:
                return rebuild(e, self.expr, self.elem, self.dictionary)

    def dictionary(self, d: DictExpr) -> DictExpr:
        if isinstance(d, DictLit):
            name = self.names.fresh(d.var)
            body = self.bind(d.var, name).expr(d.body)
            return d if name == d.var and body is d.body else DictLit(d.site, name, body)
        return rebuild_dict(d, self.expr, self.dictionary)


def unique_binders(e: Expr, plain: bool = False) -> Expr:
    """``e`` with every bound variable named apart, so that later substitutions cannot capture.

    ``plain``: no let-variable has the name of the change of another, ΔX or X⁺, so that a delta can bind these.
    """
    return _Apart(Names(free_vars(e) | free_lets(e)), plain=plain).expr(e)


def unique_dict_binders(d: DictExpr, plain: bool = False) -> DictExpr:
    """``unique_binders`` for a dictionary."""
    return _Apart(Names(free_vars(d) | free_lets(d)), plain=plain).dictionary(d)


def canonical(e: Expr) -> Expr:
    """``e`` with its bound variables named by their order. Law: terms that differ in these names alone become equal."""
    return _Apart(_Numbered()).expr(e)
