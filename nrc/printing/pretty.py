"""Terms as text, in the notation of the paper: ``for m in M where m.gen = "Drama" union sng(⟨name: m.name⟩)``.

Law 7: ``parse(show(e)) = e`` for every well-typed term (``nrc/surface/text``), so that different terms have different
text. ``show`` is one line and depends on nothing but the term: fingerprints are made of it. ``nrc/printing/layout.py``
puts the same text on several lines, for people. What the notation has for it:

- ⊎, × and operators are in brackets below another construct, so that the body of a for ends where they begin.
- ``where p union e`` is ``for _ in p(p) union e``, and ``where₁`` binds ``_1``. A chain has one ``where`` for each.
- A field whose name is not a word is read as ``x⟨m.name⟩``, because ``x.m.name`` would be a path; so are the
  parameters of labels. Where the type of l does not say at which site, it is ``l⟨site: p⟩``.
- The parameters of a definition have short names, ``[(ι; n) ↦ … n …]``, which stand for l⟨m.n⟩ with the label l; a
  label of another name is written in front, ``[k@(ι; n) ↦ …]``.
- A stored part is ``@R`` where a let-variable hides its name.

``around`` is what is bound around a part of a term; a whole term needs none.
"""

from typing import assert_never

from attrs import evolve, frozen

from ripplenest.nrc.printing.around import NOWHERE, Around
from ripplenest.nrc.printing.text import let_variable, literal, part, path, plain_name, quoted_name, show_type, variable
from ripplenest.nrc.syntax import (
    Apply,
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
    For,
    Group,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Sorting,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.types import Dict, Label
from ripplenest.nrc.walk import Names, nodes, rebuild, rebuild_elem

INFIX = {
    "or": ("or", 1), "and": ("and", 2),
    "eq": ("=", 4), "ne": ("≠", 4), "lt": ("<", 4), "le": ("≤", 4), "gt": (">", 4), "ge": ("≥", 4), "same": ("<=>", 4),
    "add": ("+", 5), "sub": ("-", 5), "mul": ("·", 6), "div": ("/", 6), "mod": ("mod", 6),
    "quotient": ("//", 6),
}  # fmt: skip
NOT, COMPARISON, NEGATIVE, ATOM = 3, 4, 7, 9
LABEL = "l"  # what the label of a definition is called unless its text says otherwise
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


# ---------------------------------------------------------------- elements


def show_elem(t: Elem, around: Around = NOWHERE) -> str:
    """An element on one line."""
    return _elem(t, around)[0]


def _elem(t: Elem, around: Around) -> tuple[str, int]:
    """The text of ``t`` and how tightly it binds."""
    match t:
        case Var(name):
            return variable(name), ATOM
        case Proj(of, name):
            dot = f".{name}" if plain_name(name) else f"⟨{path(name)}⟩"
            return inside(of, ATOM, around) + dot, ATOM
        case Lit(value, base):
            return literal(value, base), ATOM
        case Call(fn, args):
            return _call(fn, args, around)
        case Tuple(fields):
            return "⟨" + ", ".join(f"{path(n)}: {show_elem(a, around)}" for n, a in fields) + "⟩", ATOM
        case InL(site, args):                       # the label ⟨ι, ε⟩
            return "⟨" + ", ".join((show_site(site), *(show_elem(a, around) for _, a in args))) + "⟩", ATOM
        case OutL(label, site, param):
            which = "" if around.is_plain(t) else f"{path(site.name)}: "
            return f"{inside(label, ATOM, around)}⟨{which}{path(param)}⟩", ATOM
        case IsSite(label, site_name):
            return f"{inside(label, COMPARISON + 1, around)} ∈ {show_site(site_name)}", COMPARISON
        case _:
            assert_never(t)


def _call(fn: str, args: tuple[Elem, ...], around: Around) -> tuple[str, int]:
    generic = fn.split("_", maxsplit=1)[0]
    match fn, args:
        case _, (a, b) if generic in INFIX:
            glyph, tight = INFIX[generic]
            left = inside(a, tight + (tight == COMPARISON), around)
            return f"{left} {glyph} {inside(b, tight + 1, around)}", tight
        case "is_null" | "is_true", (a,):
            return f"{inside(a, COMPARISON + 1, around)} {fn.replace('_', ' ')}", COMPARISON
        case "not", (a,):
            return f"not {inside(a, NOT, around)}", NOT
        case _, (a,) if generic == "neg" and not isinstance(a, Lit):  # -5 is a constant
            return f"-{inside(a, NEGATIVE + 1, around)}", NEGATIVE
        case _:
            name = generic if generic == "abs" else fn
            return f"{name}({', '.join(show_elem(a, around) for a in args)})", ATOM


def level(t: Elem) -> int:
    """How tightly the text of ``t`` binds."""
    return _elem(t, NOWHERE)[1]


def inside(t: Elem, least: int, around: Around = NOWHERE) -> str:
    """The text of ``t``, in brackets when it binds less tightly than ``least``."""
    text, own = _elem(t, around)
    return text if own >= least else f"({text})"


def show_site(name: str) -> str:
    """ι of the site ``name``."""
    return f"ι[{path(name)}]"


# ---------------------------------------------------------------- bags


def show(e: Expr, around: Around = NOWHERE) -> str:
    """A term on one line."""
    match e:
        case Rel(name, _, at, order):
            return "@" * around.is_let(e.key) + at.show(part(name), order)
        case LetVar(name):
            return let_variable(name)
        case Let(name, bound, body):
            inner = around.let(name, bound)
            return f"let {let_variable(name)} := {show(bound, around)} in {show(body, inner)}"
        case For():
            return _for(e, around)
        case Pred(cond):
            return f"p({show_elem(cond, around)})"
        case Weigh(count):
            return f"weigh({show_elem(count, around)})"
        case Sng(elem):
            return f"sng({show_elem(elem, around)})"
        case SngBag(site, body, order):
            return f"sng[{path(site)}]({show(body, around)}{sorted_by(order)})"
        case Flatten(of):
            return f"flatten({show(of, around)})"
        case Product(left, right):
            return f"({show(left, around)} × {show(right, around)})"
        case Plus():
            return f"({' ⊎ '.join([show(s, around) for s in left_summands(e)])})"
        case Neg(of):
            return f"⊖({show(of, around)})"
        case Empty(row):
            return f"∅[{show_type(row)}]"
        case Apply(dictionary, label):
            return f"{show_dict(dictionary, around)}({show_elem(label, around)})"
        case Group(site, var, of):
            word, keys, folds = group_columns(e, around.rows(var, of))
            by = f" by {', '.join(keys)}" if keys else ""
            made = f" of {', '.join(folds)}" if folds else ""
            return f"{word}[{path(site)}]({variable(var)} in {generated(of, around)}{by}{made})"
        case Top(site, var, of, _, limit):
            orders = order_columns(e, around.rows(var, of))
            by = f" order {', '.join(orders)}" if orders else ""
            return f"top[{path(site)}]({limit}, {variable(var)} in {generated(of, around)}{by})"
        case _:
            assert_never(e)


def _for(e: For, around: Around) -> str:
    clause = for_clause(e, around)
    generator = f"for {clause.var} in {generated(e.source, around)} " if clause.var else ""
    conditions = "".join(f"{c} " for c in clause.conditions)
    return f"{generator}{conditions}union {show(clause.body, clause.around)}"


@frozen
class Condition:
    """``where p``, one of a chain; ``around`` is what p can read."""

    word: str
    cond: Elem
    around: Around

    def __str__(self) -> str:
        return f"{self.word} {show_elem(self.cond, self.around)}"


@frozen
class Clause:
    """x, the conditions and the body of ``for x in e₁ where p … union e₂``; x is empty for a bare ``where``."""

    var: str
    conditions: tuple[Condition, ...]
    body: Expr
    around: Around


def for_clause(e: For, around: Around) -> Clause:
    """A for with the predicates directly inside: the where clause of the paper's example 2."""
    found: list[Condition] = []
    bare = _where_word(e)
    body: Expr = e
    if not bare:
        around, body = around.rows(e.var, e.source), e.body
    while isinstance(body, For) and (word := _where_word(body)):
        assert isinstance(body.source, Pred)
        found.append(Condition(word, body.source.cond, around))
        around, body = around.rows(body.var, body.source), body.body
    return Clause("" if bare else variable(e.var), tuple(found), body, around)


def _where_word(e: For) -> str:
    """``where`` for ``for _ in p union``, ``where₁`` for ``for _1 in p union``; empty for every other for."""
    digits = e.var.removeprefix("_")
    anonymous = e.var.startswith("_") and (digits == "" or (digits.isascii() and digits.isdigit()))
    return "where" + digits.translate(_SUBSCRIPTS) if anonymous and isinstance(e.source, Pred) else ""


def generated(source: Expr, around: Around) -> str:
    """What a variable ranges over."""
    text = show(source, around)
    return f"({text})" if isinstance(source, For | Let) else text


def group_columns(g: Group, inner: Around) -> tuple[str, list[str], list[str]]:
    """``group`` or ``fold``, the keys and the folds as ``name: term``; ``inner`` is what is bound around these."""
    keys = [f"{path(name)}: {show_elem(t, inner)}" for name, t in g.keys or ()]
    folds = [f"{path(f.name)}: {f.fn}({', '.join(show_elem(a, inner) for a in f.args)})" for f in g.folds]
    return "fold" if g.keys is None else "group", keys, folds


def sorted_by(order: tuple[Sorting, ...]) -> str:
    """`` sorted price desc, name``, or nothing."""
    found = (f"{_path(by.path)}{' desc' * by.descending}{' nulls first' * by.nulls_first}" for by in order)
    return f" sorted {', '.join(found)}" if order else ""


def _path(names: tuple[str, ...]) -> str:
    return ".".join(n if plain_name(n) else quoted_name(n) for n in names) or "value"


def order_columns(t: Top, inner: Around) -> list[str]:
    """What rows are ordered by, ``x.price desc``; ``inner`` is what is bound around it."""
    return [
        show_elem(o.by, inner) + " desc" * o.descending + " nulls first" * o.nulls_first for o in t.order
    ]


# ---------------------------------------------------------------- dictionaries


def show_dict(d: DictExpr, around: Around = NOWHERE) -> str:
    """A dictionary on one line; the parameters of a definition are read by name: ``[(ι; n) ↦ … n …]``."""
    match d:
        case DictRel(name, _, at, order):           # a word before a bracket would be a function
            return at.show(quoted_name(name) if plain_name(name) else part(name), order)
        case DictLit():
            head, body, inner = definition(d, around)
            return f"[{head} ↦ {show(body, inner)}]"
        case DictPlus(left, right):
            return f"({show_dict(left, around)} ⊎ {show_dict(right, around)})"
        case DictUnion(left, right):
            return f"({show_dict(left, around)} ∪ {show_dict(right, around)})"
        case DictEmpty(row):
            return f"∅[{show_type(Dict(row))}]"
        case _:
            assert_never(d)


def definition(d: DictLit, around: Around) -> tuple[str, Expr, Around]:
    """``(ι; p, …)``, the body that reads the parameters as p, …, and what is bound around it."""
    params, body = open_definition(d)
    inner = around.value(d.var, Label((d.site,)))
    for short, (_, t) in zip(params, d.site.params, strict=True):
        inner = inner.value(short, t)
    label = "" if d.var == LABEL else f"{variable(d.var)}@"
    names = "".join(f"{'; ' if i == 0 else ', '}{p}" for i, p in enumerate(params))
    return f"{label}({show_site(d.site.name)}{names})", body, inner


def open_definition(d: DictLit) -> tuple[tuple[str, ...], Expr]:
    """Π as short names, apart from every variable of the body, and the body reading them as variables."""
    found = list(nodes(d.body))
    taken = {n.name for n in found if isinstance(n, Var | LetVar | Rel)}
    taken |= {n.var for n in found if isinstance(n, For | DictLit | Group | Top)}
    names = Names(frozenset(taken))
    last = {p: p.rsplit(".", maxsplit=1)[-1] for p, _ in d.site.params}
    short = {p: names.fresh(name if variable(name) == name else "p") for p, name in last.items()}

    def elem(t: Elem) -> Elem:
        match t:
            case OutL(Var(var), site, param) if var == d.var and site == d.site and param in short:
                return Var(short[param])
            case _:
                return rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        match e:
            case For(var, source, body) if var == d.var:  # another l
                return For(var, expr(source), body)
            case Group(_, var, of) | Top(_, var, of) if var == d.var:
                return evolve(e, of=expr(of))
            case _:
                return rebuild(e, expr, elem, lambda inner: inner)  # which have parameters of their own

    return tuple(short.values()), expr(d.body)


def left_summands(e: Expr) -> list[Expr]:
    """e₁, …, eₙ of (…(e₁ ⊎ e₂) ⊎ …) ⊎ eₙ. A loop, because normal forms can have more summands than the stack frames."""
    found: list[Expr] = []
    while isinstance(e, Plus):
        found.append(e.right)
        e = e.left
    return [e, *reversed(found)]
