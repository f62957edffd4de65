"""What Ripplenest costs, measured beside what a user would take instead (``ripplenest bench``).

``data`` draws tables from a seed; ``workloads`` is the table of what is measured: a view, its relations, and batches
that change them; ``subject`` is Ripplenest with such a view, ``rivals`` are the others, ``floor`` is the least that any
of them must do. ``measure`` runs them in turns, ``same`` compares their answers; a figure whose answer was not found
right is none. ``results`` is what was found, ``goals`` and ``goals_of_totals`` what it ought to be, ``sections`` and
``plots`` how it is shown.
"""
