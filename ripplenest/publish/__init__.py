"""Publishing a view as Delta tables: what a kept view shows at a version, for whoever reads Delta Lake.

Theory of operation. A publication brings tables from the version that they show to a version of the state, in one
Delta commit for each table, whatever lies between: so it is repeated without harm, and one that was missed, because the
process died between the two commits, is made good by the next. Nothing is remembered on our side but the target
(``target.py``); the table knows its version, and the place of the one state that it belongs to. ``source.py`` says what
is in a table, ``tables.py`` how it gets there.

Publications come after the commit, and each table knows the version that it shows, in the same Delta commit as the
rows. So nothing is coordinated: what is missing is published by whoever comes next. The number of a version does not
say which history it belongs to, so its digest is in the Delta commit as well: a state that was restored or copied
does not go on with the tables of another. Nor do digests say which of two copies it is: so each commit says where the
state lives (``ripplenest/store/place.py``), which a copy does not share. ``ripplenest/publish/__init__.py`` begins
with its theory of operation.
"""

from ripplenest.publish.publisher import Published, check_target, look, publish
from ripplenest.publish.target import Layout, Target

__all__ = ["Layout", "Published", "Target", "check_target", "look", "publish"]
