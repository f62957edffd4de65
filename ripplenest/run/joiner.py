"""What an engine is: it sums products of small inputs. Spark is one, ``run/local.py`` another; the one here, by rows,
is what these are compared with, and what joins very few rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from attrs import evolve, field, frozen

from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError, RipplenestError
from ripplenest.plan.evaluate import evaluate, written
from ripplenest.plan.planned import Plan, PlannedMap, Target
from ripplenest.plan.product import Op, Product, within
from ripplenest.run.blamed import blamed
from ripplenest.store.files import Files
from ripplenest.vector.combinations import Combinations


@frozen
class Task:
    """One product over its inputs, for the target of that name. Those that are in files whole may have to be ``looked``
    up by the rows of the change: some of them are ``totals``, which have a row for every place. Whoever made the task
    knows some ``combinations`` of these rows."""

    target: str
    product: Product
    inputs: tuple[Rows, ...]
    looked: bool = False
    totals: tuple[PlannedMap | None, ...] = ()
    combinations: Combinations | None = field(default=None, eq=False, repr=False)

    @property
    def cautious(self) -> "Task":
        """The same by keys that cannot fail: what is looked up by none is read, unless only who looks up knows what
        stands for places without rows."""
        product = self.product.cautious()
        return evolve(self, product=product, looked=self.looked and any(step.place for step in product.steps))


class Joined(dict[str, Rows]):
    """Rows by target, and how many ``jobs`` of a cluster they took: none where they were joined in this process. So
    many stored rows were ``read`` that tasks looked up, and so many joined ``here`` in place of a job. Those of the
    targets ``in_pieces`` are folded, a piece each."""

    def __init__(
        self,
        rows: Mapping[str, Rows],
        jobs: int = 0,
        read: int = 0,
        in_pieces: frozenset[str] = frozenset(),
        here: int = 0,
    ) -> None:
        super().__init__(rows)
        self.jobs, self.read, self.in_pieces, self.here = jobs, read, in_pieces, here

    def beside(self, other: "Joined") -> "Joined":
        """Both, of other targets."""
        both = self.in_pieces | other.in_pieces
        return Joined({**self, **other}, self.jobs + other.jobs, self.read + other.read, both, self.here + other.here)


class Joiner(Protocol):
    """An engine for products."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """By target, the sum of its tasks' rows, consolidated unless they are to be folded; every one of ``targets`` is
        in the answer."""


@runtime_checkable
class Writing(Protocol):
    """An engine whose tasks may leave what they make where a commit finds it."""

    def writing(self, files: Files) -> Joiner:
        """The same engine. What it makes for a target may be in ``files``, as the change of the map."""


class PythonJoiner:
    """Products over Python rows, by the reference meaning of every scalar."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """See ``Joiner``."""
        pairs: dict[str, list[tuple[Row, int]]] = {t.name: [] for t in targets}
        for task in tasks:
            pairs[task.target].extend(evaluate(task.product, [rows.counts() for rows in task.inputs]).items())
        return Joined({t.name: Rows.of_pairs(t.types, pairs[t.name]).consolidated() for t in targets})


class Spent(Protocol):
    """What answers took, one after the other (see ``Joined``)."""

    @property
    def jobs(self) -> list[int]: ...

    @property
    def read(self) -> list[int]: ...

    @property
    def here(self) -> list[int]: ...


def summed(
    joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target], spent: Spent, plan: Plan
) -> Iterable[tuple[Target, Rows]]:
    """The rows of each of ``targets``; without tasks no engine is asked. What the answer took goes to ``spent``. Errors
    call columns what users of the ``plan`` do."""
    if not tasks:
        return [(t, Rows.empty(t.types)) for t in targets]
    try:
        results = _joined(joiner, tasks, targets)
    except EvaluationError as error:
        raise _placed(_in_words(error, joiner, tasks, targets, plan), joiner, tasks, targets) from None
    for own, more in ((spent.jobs, results.jobs), (spent.read, results.read), (spent.here, results.here)):
        own.append(more)
    return [(evolve(t, in_pieces=True) if t.name in results.in_pieces else t, results[t.name]) for t in targets]


def _joined(joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
    try:
        return joiner.join(tasks, targets)
    except EvaluationError:  # perhaps of a key, for a row without a partner
        again = [task.cautious for task in tasks]
        if [task.product for task in again] == [task.product for task in tasks]:
            raise
        return joiner.join(again, targets)


def _in_words(
    error: EvaluationError, joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target], plan: Plan
) -> EvaluationError:
    """``error`` with what the columns are called that its scalar reads, and of which rows."""
    products = dict.fromkeys(task.product for task in tasks)
    every = [p for p in products if _reads(p, error) and _computes(p, error.about)]
    if len(every) < 2:
        return _said(error, next(iter(every), None), plan)
    apart = ((p, _failed(joiner, [task for task in tasks if task.product == p], targets)) for p in every)
    found = (_said(own, p, plan) for p, own in apart if own is not None and _computes(p, own.about))
    return next(found, None) or _said(error, None, plan)


def _said(error: EvaluationError, found: Product | None, plan: Plan) -> EvaluationError:
    """``error`` in words, if it is ``found`` which product has no value."""
    if isinstance(error.about, Op) and found is not None:
        sources = found.sources
        error.got = written(error.about, lambda c: _called(plan, sources[c.source].table, c.column))
        error.key = blamed(error, found, plan)
    error.rows = {}  # nobody is shown their values
    return error


def _failed(joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target]) -> EvaluationError | None:
    """What is said of ``tasks`` alone."""
    made = {task.target for task in tasks}
    try:
        _joined(joiner, tasks, [t for t in targets if t.name in made])
    except EvaluationError as error:
        return error
    return None


def _computes(p: Product, scalar: object) -> bool:
    """Whether ``scalar`` is computed by ``p``."""
    return any(scalar in {*within(s)} for s in (*p.head, *p.conditions, *p.times))


def _reads(p: Product, error: EvaluationError) -> bool:
    """Whether rows of an error are of what ``p`` reads: others may compute the same, of fewer sources."""
    sources = p.sources
    return all(n < len(sources) and len(row) == len(sources[n].types) for n, row in error.rows.items())


def _called(plan: Plan, table: str, column: int) -> str:
    own = plan.columns.get(table, ())
    return own[column] if column < len(own) else ""


def _placed(
    error: EvaluationError, joiner: Joiner, tasks: Sequence[Task], targets: Sequence[Target]
) -> RipplenestError:
    """``error`` with the view that has no value: the only one, or the first whose own tasks fail alone."""
    if error.where:
        return error
    made = {task.target for task in tasks}
    views = list(dict.fromkeys(t.view for t in targets if t.name in made))
    if len(views) == 1:
        return error.at(f"view {views[0]}")
    for view in views:
        names = {t.name for t in targets if t.view == view}
        if _failed(joiner, [task for task in tasks if task.target in names], targets):
            return error.at(f"view {view}")
    return error
