package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// largeCase is one large transaction. prepare is not measured; check runs after the measurement.
type largeCase struct {
	name    string
	kills   bool // the process is killed in it
	prepare func(context.Context, *work) error
	run     func(context.Context, *work) error
	check   func(context.Context, *work) error
}

var cases = []largeCase{
	{name: "copy", prepare: table("copied", plain), run: copies("copied"), check: counts("copied", 1)},
	{name: "series", prepare: table("made", plain), run: series("made"), check: counts("made", 1)},
	{name: "select", prepare: source("selected", plain), run: one("INSERT INTO selected SELECT * FROM source"),
		check: counts("selected", 1)},
	{name: "self", prepare: source("selected", plain),
		run:   one("INSERT INTO source SELECT id + 1000000000, n, body FROM source"),
		check: counts("source", 2)},
	{name: "update", prepare: source("", ""), run: one("UPDATE source SET n = n + 1"), check: counts("source", 1)},
	{name: "delete", prepare: source("", ""), run: one("DELETE FROM source"), check: counts("source", 0)},
	{name: "again", prepare: table("copied", plain), run: again, check: counts("copied", 1)},
	{name: "statements", prepare: table("many", plain), run: statements, check: counts("many", 1)},
	{name: "wide", prepare: table("wide", plain), run: wide("wide", 4<<10), check: wideCounts("wide", 4<<10)},
	{name: "huge", prepare: table("huge", plain), run: wide("huge", 8<<20), check: wideCounts("huge", 8<<20)},
	{name: "index-copy", prepare: table("indexed", unique), run: copies("indexed"), check: counts("indexed", 1)},
	{name: "index-select", prepare: source("selected", unique), run: one("INSERT INTO selected SELECT * FROM source"),
		check: counts("selected", 1)},
	{name: "index-update", prepare: filled("indexed", unique), run: one("UPDATE indexed SET n = n + 1"),
		check: counts("indexed", 1)},
	{name: "index-delete", prepare: filled("indexed", unique), run: one("DELETE FROM indexed"),
		check: counts("indexed", 0)},
	{name: "references", prepare: parents("NOT DEFERRABLE"),
		run: one("INSERT INTO child SELECT id, id, body FROM source"), check: counts("child", 1)},
	{name: "deferred", prepare: parents("DEFERRABLE INITIALLY DEFERRED"), run: deferred, check: counts("child", 1)},
	{name: "stronger", prepare: source("", ""), run: stronger, check: counts("source", 0)},
	{name: "rollback", prepare: table("undone", unique), run: rollback, check: counts("undone", 0)},
	{name: "savepoint", prepare: table("saved", plain), run: savepoint, check: counts("saved", 1)},
	{name: "prepared", kills: true, prepare: table("held", unique), run: prepared, check: counts("held", 1)},
	{name: "kill", kills: true, prepare: table("killed", plain), run: killed},
	{name: "idle", run: idle},
}

func names() (out []string) {
	for _, c := range cases {
		out = append(out, c.name)
	}
	return out
}

const (
	plain  = ""
	unique = "n"
)

// bodyBytes is the length of the body; a row then has about 250 bytes.
const bodyBytes = 226

// table creates a table. If kind asks for it, the table gets a secondary index and a unique index
// without the placement fields.
func table(name, kind string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		texts := []string{"DROP TABLE IF EXISTS " + name + " CASCADE",
			"CREATE TABLE " + name + "(id bigint PRIMARY KEY, n bigint NOT NULL, body text NOT NULL)"}
		if kind == unique {
			texts = append(texts, "CREATE UNIQUE INDEX ON "+name+"(n)", "CREATE INDEX ON "+name+"(left(body, 8))")
		}
		return w.all(ctx, texts...)
	}
}

// filled creates a table with rows.
func filled(name, kind string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		if err := table(name, kind)(ctx, w); err != nil {
			return err
		}
		return copies(name)(ctx, w)
	}
}

// source creates the table source with rows, and an empty table.
func source(name, kind string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		if name != "" {
			if err := table(name, kind)(ctx, w); err != nil {
				return err
			}
		}
		return filled("source", plain)(ctx, w)
	}
}

// one runs one statement over all rows.
func one(text string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		w.rows, w.bytes = w.options.rows, int64(w.options.rows)*(bodyBytes+24)
		return w.exec(ctx, text)
	}
}

func series(name string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		return one(fmt.Sprintf("INSERT INTO %s SELECT i, i, repeat(md5(i::text), 7) FROM generate_series(1, %d) i",
			name, w.options.rows))(ctx, w)
	}
}

// copies loads rows with one COPY, which commits them.
func copies(name string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		return w.copy(ctx, name, 1, w.options.rows, bodyBytes)
	}
}

// copy loads rows with ids from first on.
func (w *work) copy(ctx context.Context, name string, first, rows, body int) error {
	w.rows, w.bytes = rows, int64(rows)*int64(body+24)
	tag, err := w.conn.PgConn().CopyFrom(ctx, &copyText{next: first, left: rows, body: body},
		"COPY "+name+" FROM STDIN")
	if err == nil && tag.RowsAffected() != int64(rows) {
		err = fmt.Errorf("%s, not %d", tag, rows)
	}
	return err
}

// copyText generates rows in COPY's text form. Bodies differ between rows and within a row.
type copyText struct {
	next, left, body int
	line             []byte
	rest             []byte
}

// Read implements io.Reader.
func (c *copyText) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(c.rest) == 0 {
			if c.left == 0 {
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
			c.makeLine()
		}
		k := copy(b[n:], c.rest)
		c.rest = c.rest[k:]
		n += k
	}
	return n, nil
}

func (c *copyText) makeLine() {
	b := strconv.AppendInt(c.line[:0], int64(c.next), 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, int64(c.next), 10)
	b = append(b, '\t')
	x := uint64(c.next)
	for end := len(b) + c.body; len(b) < end; {
		x = x*6364136223846793005 + 1442695040888963407
		for i := 0; i < 8 && len(b) < end; i++ {
			b = append(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+"[x>>(58-6*i)&63])
		}
	}
	c.line = append(b, '\n')
	c.rest = c.line
	c.next++
	c.left--
}

// counts checks that a table has the rows of a number of copies.
func counts(name string, times int64) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		if err := w.expect(ctx, times*int64(w.options.rows), "SELECT count(*) FROM "+name); err != nil || times == 0 {
			return err
		}
		return w.expect(ctx, times*int64(w.options.rows),
			"SELECT count(DISTINCT id % 1000) * "+strconv.Itoa(int(times)*w.options.rows/min(1000,
				w.options.rows))+" FROM "+name)
	}
}

// wide loads rows of body bytes.
func wide(name string, body int) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		return w.copy(ctx, name, 1, int(w.options.bytes)/body, body)
	}
}

func wideCounts(name string, body int) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		return w.expect(ctx, w.options.bytes, "SELECT sum(length(body))::bigint FROM "+name)
	}
}

// again truncates and copies three times.
func again(ctx context.Context, w *work) error {
	for range 3 {
		if err := w.exec(ctx, "TRUNCATE copied"); err != nil {
			return err
		}
		if err := copies("copied")(ctx, w); err != nil {
			return err
		}
	}
	w.rows, w.bytes = 3*w.rows, 3*w.bytes
	return nil
}

const statementRows = 1000

// statements inserts by many statements in one transaction.
func statements(ctx context.Context, w *work) error {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	body := strings.Repeat("0123456789", bodyBytes/10)
	for i := 0; i < w.options.rows; i += statementRows {
		var b strings.Builder
		b.WriteString("INSERT INTO many VALUES ")
		for j := i; j < min(i+statementRows, w.options.rows); j++ {
			if j > i {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "(%d, %d, '%s')", j, j, body)
		}
		if err := w.exec(ctx, b.String()); err != nil {
			return err
		}
	}
	w.rows, w.bytes = w.options.rows, int64(w.options.rows)*(bodyBytes+24)
	return w.all(ctx, "COMMIT")
}

func rollback(ctx context.Context, w *work) error {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := copies("undone")(ctx, w); err != nil {
		return err
	}
	return w.exec(ctx, "ROLLBACK")
}

// savepoint copies one half, a half that is rolled back, and the other half.
func savepoint(ctx context.Context, w *work) error {
	half := w.options.rows / 2
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := w.copy(ctx, "saved", 1, half, bodyBytes); err != nil {
		return err
	}
	if err := w.exec(ctx, "SAVEPOINT s"); err != nil {
		return err
	}
	if err := w.copy(ctx, "saved", half+1, half, bodyBytes); err != nil {
		return err
	}
	if err := w.all(ctx, "UPDATE saved SET n = 0 WHERE id % 10 = 0", "ROLLBACK TO s"); err != nil {
		return err
	}
	if err := w.expect(ctx, int64(half), "SELECT count(*) FROM saved WHERE n <> 0"); err != nil {
		return err
	}
	if err := w.copy(ctx, "saved", half+1, w.options.rows-half, bodyBytes); err != nil {
		return err
	}
	w.rows, w.bytes = w.options.rows, int64(w.options.rows)*(bodyBytes+24)
	return w.all(ctx, "COMMIT")
}

// parents creates source, and a table that refers to each row of it.
func parents(deferral string) func(context.Context, *work) error {
	return func(ctx context.Context, w *work) error {
		if err := filled("source", plain)(ctx, w); err != nil {
			return err
		}
		return w.all(ctx, "DROP TABLE IF EXISTS child",
			"CREATE TABLE child(id bigint PRIMARY KEY, n bigint NOT NULL REFERENCES source "+
				deferral+", body text NOT NULL)")
	}
}

// deferred copies rows whose references are checked at the commit.
func deferred(ctx context.Context, w *work) error {
	if err := w.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := copies("child")(ctx, w); err != nil {
		return err
	}
	return w.all(ctx, "COMMIT")
}

// stronger takes weak locks of all rows, and stronger ones after a savepoint.
func stronger(ctx context.Context, w *work) error {
	w.rows, w.bytes = w.options.rows, int64(w.options.rows)*(bodyBytes+24)
	return w.all(ctx, "BEGIN", "SELECT count(*) FROM (SELECT 1 FROM source FOR KEY SHARE) x", "SAVEPOINT s",
		"UPDATE source SET n = n + 1",
		"ROLLBACK TO s", "DELETE FROM source", "COMMIT")
}

// idle waits until leftover memory is released.
func idle(ctx context.Context, w *work) error {
	select {
	case <-time.After(w.idle):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
