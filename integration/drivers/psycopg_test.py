"""What a Python program does with Sherd, through psycopg 3 (extended protocol, binary where asked) and psycopg2 (simple protocol).

Run by TestPsycopg with the server's URL as argument. An AssertionError is a failed test.
"""

import datetime
import decimal
import io
import sys
import uuid

import psycopg
import psycopg2
import psycopg2.extras
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb


def equal(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def psycopg3(url):
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS python3")
        conn.execute("CREATE TABLE python3 (id text PRIMARY KEY, doc jsonb NOT NULL)")
        with conn.transaction():
            with conn.cursor() as cur:
                cur.executemany("INSERT INTO python3 VALUES (%s, %s)", [(f"p/{n}", Jsonb({"n": n, "half": n / 2})) for n in range(200)])
        equal(conn.execute("SELECT count(*) FROM python3").fetchone(), (200,))
        with conn.cursor().copy("COPY (SELECT 'row ' || g, g FROM generate_series(1, 3) g ORDER BY g) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["text", "int4"])
            equal(list(copy.rows()), [("row 1", 1), ("row 2", 2), ("row 3", 3)])
        with conn.cursor().copy("COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)") as copy:
            equal(len(b"".join(copy)), 21)
        try:
            with conn.transaction():
                conn.execute("DELETE FROM python3")
                conn.execute("INSERT INTO python3 VALUES ('x', '{}'), ('x', '{}')")
        except psycopg.errors.UniqueViolation as e:
            equal(e.diag.constraint_name, "python3_pkey")
        else:
            raise AssertionError("two rows with one id")
        equal(conn.execute("SELECT count(*) FROM python3").fetchone(), (200,))
        for binary in (False, True):
            with conn.cursor(row_factory=dict_row, binary=binary) as cur:
                cur.execute("SELECT id, doc FROM python3 WHERE doc->>'n' = %s", ("7",))
                equal(cur.fetchall(), [{"id": "p/7", "doc": {"n": 7, "half": 3.5}}])
                values = {
                    "i": 5, "f": 2.5, "d": decimal.Decimal("1.10"), "t": "é'\\", "b": b"\x00\xff", "day": datetime.date(2026, 11, 21),
                    "ts": datetime.datetime(2026, 11, 21, 10, 11, 12, 345678, tzinfo=datetime.timezone.utc), "u": uuid.UUID(int=5), "l": [1, None, 3], "n": None,
                    "td": datetime.timedelta(days=2, seconds=3),
                }
                cur.execute("SELECT %(i)s::bigint AS i, %(f)s::float8 AS f, %(d)s::numeric AS d, %(t)s::text AS t, %(b)s::bytea AS b, %(day)s::date AS day, "
                            "%(ts)s::timestamptz AS ts, %(u)s::uuid AS u, %(l)s::int[] AS l, %(n)s::text AS n, %(td)s::interval AS td", values)
                equal(cur.fetchone(), values)
        with conn.cursor() as cur:
            with cur.copy("COPY python3 (id, doc) FROM STDIN") as copy:
                for n in range(200, 300):
                    copy.write_row((f"p/{n}", Jsonb({"n": n})))
            with cur.copy("COPY (SELECT id FROM python3 WHERE id LIKE 'p/29%' ORDER BY id) TO STDOUT") as copy:
                equal([row[0] for row in copy.rows()], ["p/29"] + [f"p/29{n}" for n in range(10)])
        with conn.pipeline():
            cursors = [conn.execute("SELECT %s::int + 1", (n,)) for n in range(20)]
        equal([c.fetchone()[0] for c in cursors], list(range(1, 21)))
        try:
            conn.execute("SELECT 1/0")
        except psycopg.errors.DivisionByZero as e:
            equal(e.sqlstate, "22012")
        else:
            raise AssertionError("1/0")


def psycopg_2(url):
    conn = psycopg2.connect(url)
    with conn, conn.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cur:
        cur.execute("SELECT doc FROM python3 WHERE id = %s", ("p/7",))
        equal(cur.fetchall(), [{"doc": {"n": 7, "half": 3.5}}])
        psycopg2.extras.execute_values(cur, "INSERT INTO python3 VALUES %s", [(f"q/{n}", psycopg2.extras.Json({"n": n})) for n in range(50)])
        cur.execute("SELECT count(*) AS n, sum((doc->>'n')::int) AS sum FROM python3 WHERE id LIKE %s", ("q/%",))
        equal(dict(cur.fetchone()), {"n": 50, "sum": 1225})
        cur.execute("UPDATE python3 SET doc = doc || %s WHERE id = ANY(%s) RETURNING id", (psycopg2.extras.Json({"new": True}), ["q/1", "q/2"]))
        equal(sorted(r["id"] for r in cur.fetchall()), ["q/1", "q/2"])
    out = io.StringIO()
    with conn, conn.cursor() as cur:
        cur.copy_expert("COPY (SELECT doc->>'n' FROM python3 WHERE doc ? 'new' ORDER BY id) TO STDOUT WITH CSV", out)
    equal(out.getvalue(), "1\n2\n")
    conn.rollback()
    try:
        with conn, conn.cursor() as cur:
            cur.execute("DELETE FROM python3")
            cur.execute("SELECT nosuch FROM python3")
    except psycopg2.errors.UndefinedColumn as e:
        equal(e.pgcode, "42703")
    else:
        raise AssertionError("a column that is not there")
    with conn, conn.cursor() as cur:
        cur.execute("SELECT count(*) FROM python3")
        equal(cur.fetchone(), (350,))
    conn.close()


psycopg3(sys.argv[1])
psycopg_2(sys.argv[1])
print("psycopg", psycopg.__version__, "and psycopg2", psycopg2.__version__.split()[0], "agree")
