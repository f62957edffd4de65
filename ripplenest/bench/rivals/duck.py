"""DuckDB, in memory: lists of structs by grouping, innermost first."""

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from ripplenest.bench.changes import Write

ANSWERS = {
    "f2": """
        WITH i AS (SELECT orderkey, list({part: partkey, qty: qty}) AS items FROM L GROUP BY orderkey),
        o AS (
            SELECT custkey, list({date: date, items: coalesce(items, [])}) AS orders
            FROM O LEFT JOIN i USING (orderkey) GROUP BY custkey
        )
        SELECT name, coalesce(orders, []) AS orders FROM C LEFT JOIN o USING (custkey)
    """,
    "nested": """
        WITH o AS (SELECT custkey, unnest(orders, max_depth := 2) FROM D),
        i AS (SELECT orderkey, unnest(items, max_depth := 2) FROM o),
        j AS (
            SELECT orderkey, list({part: P.name, qty: qty, price: qty * price}) AS items
            FROM i JOIN P USING (partkey) GROUP BY orderkey
        ),
        g AS (
            SELECT custkey, list({date: date, items: coalesce(j.items, [])}) AS orders
            FROM o LEFT JOIN j USING (orderkey) GROUP BY custkey
        )
        SELECT name, coalesce(g.orders, []) AS orders FROM D LEFT JOIN g USING (custkey)
    """,
    "flat": """
        SELECT name, date, partkey AS part, qty FROM C JOIN O USING (custkey) JOIN L USING (orderkey)
    """,
    "nn2": """
        WITH o AS (SELECT custkey, unnest(orders, max_depth := 2) FROM D),
        i AS (SELECT orderkey, unnest(items, max_depth := 2) FROM o),
        t AS (
            SELECT orderkey, P.name AS part, sum(qty * price)::BIGINT AS worth
            FROM i JOIN P USING (partkey) GROUP BY orderkey, P.name
        ),
        j AS (SELECT orderkey, list({part: part, worth: worth}) AS parts FROM t GROUP BY orderkey),
        g AS (
            SELECT custkey, list({date: date, parts: coalesce(j.parts, [])}) AS orders
            FROM o LEFT JOIN j USING (orderkey) GROUP BY custkey
        )
        SELECT name, coalesce(g.orders, []) AS orders FROM D LEFT JOIN g USING (custkey)
    """,
    "nf2": """
        WITH o AS (SELECT name AS customer, unnest(orders, max_depth := 2) FROM D),
        i AS (SELECT customer, unnest(items, max_depth := 2) FROM o)
        SELECT customer AS name, P.name AS part, sum(qty * price)::BIGINT AS worth
        FROM i JOIN P USING (partkey) GROUP BY customer, P.name
    """,
    "groupby": "SELECT x, avg(y) AS mean FROM S GROUP BY x",
    "top10": """
        WITH r AS (SELECT *, row_number() OVER (PARTITION BY x ORDER BY y DESC, id DESC) AS place FROM S)
        SELECT x, list({y: y, id: id}) AS top FROM r WHERE place <= 10 GROUP BY x
    """,
    "most": "SELECT x, max(y) AS most FROM S GROUP BY x",
    **dict.fromkeys(("chain", "paths"), """
        SELECT A.i, C.j AS l, sum(A.w * B.w * C.w)::BIGINT AS w
        FROM A JOIN B ON A.j = B.i JOIN C ON B.j = C.i GROUP BY A.i, C.j
    """),
    "moments": """
        SELECT region, count(*) AS n,
            sum(x)::BIGINT AS x, sum(y)::BIGINT AS y, sum(z)::BIGINT AS z, sum(u)::BIGINT AS u,
            sum(v)::BIGINT AS v, sum(x * x)::BIGINT AS x_x, sum(x * y)::BIGINT AS x_y,
            sum(x * z)::BIGINT AS x_z, sum(x * u)::BIGINT AS x_u, sum(x * v)::BIGINT AS x_v,
            sum(y * y)::BIGINT AS y_y, sum(y * z)::BIGINT AS y_z, sum(y * u)::BIGINT AS y_u,
            sum(y * v)::BIGINT AS y_v, sum(z * z)::BIGINT AS z_z, sum(z * u)::BIGINT AS z_u,
            sum(z * v)::BIGINT AS z_v, sum(u * u)::BIGINT AS u_u, sum(u * v)::BIGINT AS u_v,
            sum(v * v)::BIGINT AS v_v
        FROM F JOIN B USING (brand) JOIN S USING (shop) JOIN R USING (region) JOIN T USING (town) GROUP BY region
    """,
    "sessions": """
        WITH j AS (
            SELECT V.id, list(H.id) AS hits FROM V JOIN H
            ON V.visitor = H.visitor AND V.begins <= H.moment AND H.moment < V.ends GROUP BY V.id
        )
        SELECT V.id, coalesce(j.hits, []) AS hits FROM V LEFT JOIN j USING (id)
    """,
    "gaps": """
        WITH a AS (
            SELECT *, moment - lag(moment) OVER (PARTITION BY visitor ORDER BY moment) > 2300 AS apart FROM H
        ), b AS (
            SELECT visitor, id,
                max(CASE WHEN apart IS NOT FALSE THEN moment END) OVER (PARTITION BY visitor ORDER BY moment) AS start
            FROM a
        )
        SELECT visitor, start, list(id) AS hits FROM b GROUP BY visitor, start
    """,
    "balances": """
        SELECT id, sum(amount) OVER (PARTITION BY account ORDER BY moment)::BIGINT AS balance FROM N
    """,
    "peaks": "SELECT id, max(amount) OVER (PARTITION BY account ORDER BY moment) AS peak FROM N",
    "joingroup": "SELECT X.x, avg(Y.y) AS mean FROM X JOIN Y ON X.y = Y.x GROUP BY X.x",
    "triangles": "SELECT count(*) AS n FROM E a, E b, E c WHERE b.x = a.y AND c.x = a.x AND c.y = b.y",
}
KEEP = "CREATE OR REPLACE TABLE answer AS SELECT * FROM asked"  # a view by that name
DELETE = {
    "L": "DELETE FROM L USING gone WHERE L.orderkey = gone.orderkey AND L.line = gone.line",
    "D": "DELETE FROM D USING gone WHERE D.custkey = gone.custkey",
    "P": "DELETE FROM P USING gone WHERE P.partkey = gone.partkey",
    "S": "DELETE FROM S USING gone WHERE S.id = gone.id",
    "X": "DELETE FROM X USING gone WHERE X.id = gone.id",
    "E": "DELETE FROM E USING gone WHERE E.x = gone.x AND E.y = gone.y",
    "A": "DELETE FROM A USING gone WHERE A.id = gone.id",
    "B": "DELETE FROM B USING gone WHERE B.id = gone.id",
    "C": "DELETE FROM C USING gone WHERE C.id = gone.id",
    "F": "DELETE FROM F USING gone WHERE F.id = gone.id",
    "Y": "DELETE FROM Y USING gone WHERE Y.id = gone.id",
    "V": "DELETE FROM V USING gone WHERE V.id = gone.id",
    "H": "DELETE FROM H USING gone WHERE H.id = gone.id",
    "N": "DELETE FROM N USING gone WHERE N.id = gone.id",
}


class Duck:
    """A database of its own."""

    def __init__(self, workload: str) -> None:
        self._workload, self._db = workload, duckdb.connect()

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        for name, table in tables.items():
            self._db.from_arrow(table).create(name)
        self._db.sql(ANSWERS[self._workload]).create_view("asked")

    def apply(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if write.verb == "insert":
                self._db.from_arrow(write.rows).insert_into(write.relation)
            else:
                self._db.register("gone", write.rows)
                self._db.execute(DELETE[write.relation])
                self._db.unregister("gone")

    def recompute(self) -> None:
        self._db.execute(KEEP)

    def answer(self) -> pa.Table:
        return self._db.table("answer").to_arrow_table()

    def nested(self) -> pa.Table:
        """The view computed and handed out as Arrow, without being kept."""
        return self._db.table("asked").to_arrow_table()

    def close(self) -> None:
        self._db.close()
