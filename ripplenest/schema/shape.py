"""The shape of a view's output: which stored table defines the labels of each site, and what its rows are."""

from attrs import frozen

from ripplenest.data.columns import width
from ripplenest.delta.compile import dictionary_name
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.syntax import dict_row
from ripplenest.nrc.types import Label, Record, Site, Type


@frozen
class Dictionary:
    """The table of one site: columns of the label's parameters, then the columns of the flat ``row``."""

    site: Site
    table: str
    stored: Type
    row: Type

    @property
    def label_width(self) -> int:
        return sum(width(t) for _, t in self.site.params)


def dictionary(program: TriggerProgram, site: str) -> Dictionary:
    """The table that defines the labels of ``site``: a map of the view, or a dictionary of an input it passes on."""
    own = site not in program.parts
    stored = program.by_name[dictionary_name(program.view, site)].row if own else dict_row(program.parts[site], site)
    assert isinstance(stored, Record)
    label, row = stored.get("label"), stored.get("row")
    assert isinstance(label, Label)
    assert row is not None
    return Dictionary(label.sites[0], program_table(program, site), stored, row)


def program_table(program: TriggerProgram, site: str) -> str:
    """The name of the table that holds the dictionary of ``site``."""
    return site if site in program.parts else dictionary_name(program.view, site)


def sites(program: TriggerProgram) -> tuple[str, ...]:
    """Every site whose labels the output can hold, outer ones first."""
    found: dict[str, None] = {}
    todo = [program.flat.row]
    while todo:
        for label in _labels(todo.pop(0)):
            for site in label.sites:
                if site.name not in found:
                    found[site.name] = None
                    todo.append(dictionary(program, site.name).row)
    return tuple(found)


def _labels(t: Type) -> list[Label]:
    match t:
        case Label():
            return [t]
        case Record(fields):
            return [label for _, inner in fields for label in _labels(inner)]
        case _:
            return []
