"""The kinds of jobs. Spark tells tasks their names; what does the work is imported by who does it."""

from pathlib import Path

from ripplenest.tasks.jobs import UNSEEN, Batches, OnRows, OnWork


class Taking(OnRows):
    """Rows become runs."""

    @staticmethod
    def do(common: str, share: int, batches: Batches) -> str:
        from ripplenest.tasks.loads import take  # noqa: PLC0415 - in tasks alone

        return take(common, share, batches, True)


class Looking(OnRows):
    """Rows are looked at: what they are."""

    @staticmethod
    def do(common: str, share: int, batches: Batches) -> str:
        from ripplenest.tasks.loads import take  # noqa: PLC0415 - in tasks alone

        return take(common, share, batches, False)


class Summing(OnRows):
    """Rows of a map become runs of it."""

    @staticmethod
    def do(common: str, share: int, batches: Batches) -> str:
        from ripplenest.tasks.summing import sum_up  # noqa: PLC0415 - in tasks alone

        return sum_up(common, share, batches)


class Again(OnWork):
    """Keys of a range that come again."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.settled import find_again  # noqa: PLC0415 - in tasks alone

        return find_again(common, own)


class Settling(OnWork):
    """A range of what was loaded becomes a segment, unless keys come again in it."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.settled import settle_range  # noqa: PLC0415 - in tasks alone

        return settle_range(common, own)


class Shredding(OnWork):
    """Arrays of a range become rows of parts."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.arrays import shred_range  # noqa: PLC0415 - in tasks alone

        return shred_range(common, own)


class Checking(OnWork):
    """Rows of a range of a relation are looked at, and what of them belongs to others is written."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.checks import check_range  # noqa: PLC0415 - in tasks alone

        return check_range(common, own)


class Meeting(OnWork):
    """Labels of a range meet those who hold them."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.checks import meet_range  # noqa: PLC0415 - in tasks alone

        return meet_range(common, own)


class Merging(OnWork):
    """A range becomes a segment."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.merging import merge_range  # noqa: PLC0415 - in tasks alone

        return merge_range(common, own)


class Stepping(OnWork):
    """Rows that statements have made of the keys of a range become changes of a map."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.steps import step_range  # noqa: PLC0415 - in tasks alone

        return step_range(common, own)


class Finding(OnWork):
    """Rows of a range of a change, with what they find in other tables, become runs."""

    @staticmethod
    def do(common: str, own: str) -> str:
        from ripplenest.tasks.lookups import find_range  # noqa: PLC0415 - in tasks alone

        return find_range(common, own)


class Seeing(OnWork):
    """Whether a folder is seen."""

    @staticmethod
    def do(common: str, own: str) -> str:  # noqa: ARG004 - there is nothing of its own
        return "" if Path(common).is_dir() else UNSEEN
