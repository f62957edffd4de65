"""Opening a state: the arguments, the store, and what a process that died or another release has left to do."""

import os
import warnings
from typing import TYPE_CHECKING, get_args

from ripplenest.api.database import Database
from ripplenest.data.room import memory_of
from ripplenest.errors import NotPublished
from ripplenest.nrc.arguments import flag, local_path, one_of
from ripplenest.nrc.border import bordered
from ripplenest.run.engines import Engine
from ripplenest.run.policy import Policy, check_policy
from ripplenest.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@bordered
def open_database(
    path: str | os.PathLike[str],
    spark: "SparkSession | None" = None,
    engine: Engine = "auto",
    policy: Policy = "auto",
    catalogue: str | None = None,
    retain: int | None = None,
    catch_up: bool = True,
    memory: str | int | None = None,
) -> Database:
    """Open the state directory ``path``, made when missing.

    ``path`` is a folder of this machine; the URL of one (``file:///path``) will do, and any other URL is refused.
    ``spark`` is the session to use; without one, a local session starts when it is first needed. ``engine`` says where
    views are worked out: "local" in this process, "spark" on Spark, "auto" on Spark where the estimate of rows read and
    made is beyond what one process does, and here elsewhere. ``policy`` says how batches keep
    views fresh: "auto" takes what the estimates call cheaper, "incremental" always runs the triggers, "strict" also
    refuses views whose triggers do not cost what the change costs, "full" always recomputes. ``catalogue`` is the URL
    of a PostgreSQL database for a state that several hosts share; without one, the catalogue is a SQLite file in
    ``path``. ``retain`` says how many versions are kept besides the newest (1,000 unless set, at least 1), from now on.
    ``memory`` says how much of it loads and builds may take, such as "512MB": what the variable RIPPLENEST_MEMORY says
    unless given, and 1 GiB without both. More rows than fit are worked on in pieces, and lie in files meanwhile.

    Opening a state rebuilds small views that wait for it, and publishes what a process that died did not; with
    ``catch_up=False`` it does neither, for those who only read. Raises WrongValue for arguments that cannot be,
    StateError, CorruptState, or EnvironmentProblem for a session whose settings would change what views mean.
    """
    one_of(engine, get_args(Engine), "there is no such engine", "open: engine")
    flag(catch_up, "open: catch_up")
    check_policy(policy)
    folder = local_path(path, "open: path")
    if spark is not None:
        from ripplenest.spark.session import check_session  # noqa: PLC0415 - Spark is optional

        check_session(spark)
    store = Store.open(folder, catalogue=catalogue, retain=retain, memory=memory_of(memory))
    try:
        db = Database(store, spark, engine, policy)
    except BaseException:
        store.close()
        raise
    try:
        if catch_up:
            db.rebuild_small()
            db.catch_up()
    except NotPublished as error:  # a table that cannot be written must not keep anybody from reading the state
        warnings.warn(str(error), stacklevel=3)
    return db
