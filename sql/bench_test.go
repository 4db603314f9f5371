package sql_test

import (
	"strconv"
	"testing"

	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/types"
)

// unread drops the results.
type unread struct{ recorder }

func (*unread) Row([]types.Datum) error { return nil }
func (*unread) Complete(string) error   { return nil }

// BenchmarkStatement runs prepared statements of one client, as the extended protocol does:
// everything of a statement except the connection.
func BenchmarkStatement(b *testing.B) {
	for _, fragments := range []int{1, 3} {
		w := newWorldOf(b, fragments)
		setup := w.connect(b)
		setup.want("CREATE TABLE t (k int PRIMARY KEY, n int, s text)", "CREATE TABLE")
		setup.want("INSERT INTO t SELECT i, i, 'some text' FROM generate_series(1, 10000) i", "INSERT 0 10000")
		setup.want("CREATE TABLE events (id text PRIMARY KEY, doc jsonb NOT NULL)", "CREATE TABLE")
		next := int64(10000)
		for _, x := range []struct {
			name, text string
			args       func() []types.Datum
		}{
			{"select", "SELECT n FROM t WHERE k = $1", func() []types.Datum {
				return []types.Datum{types.NewInt(next*7919%10000 + 1)}
			}},
			{"insert", "INSERT INTO t VALUES ($1, 1, 'some text')", func() []types.Datum {
				return []types.Datum{types.NewInt(next)}
			}},
			{"update", "UPDATE t SET n = n + 1 WHERE k = $1", func() []types.Datum {
				return []types.Datum{types.NewInt(next*7919%10000 + 1)}
			}},
			{"document", "INSERT INTO events VALUES ('events/' || $1 || '-' || $1, '{\"Kind\": \"click\"}')",
				func() []types.Datum {
					return []types.Datum{types.NewText(strconv.FormatInt(next, 10))}
				}},
		} {
			b.Run(x.name+"/"+strconv.Itoa(fragments), func(b *testing.B) {
				c := w.connect(b)
				must(b, c.s.Parse(b.Context(), "", x.text, nil))
				b.ReportAllocs()
				for b.Loop() {
					next++
					statement(b, c.s, x.args())
				}
			})
		}
	}
}

func statement(b *testing.B, s *session.Session, args []types.Datum) {
	must(b, s.Bind(b.Context(), "", "", args))
	s.SyncFollows()
	if _, err := s.Execute(b.Context(), "", 0, &unread{}); err != nil {
		b.Fatal(err)
	}
	must(b, s.Sync(b.Context()))
}

// BenchmarkText runs the statements of BenchmarkStatement by the simple protocol, each with new
// literals in its text.
func BenchmarkText(b *testing.B) {
	w := newWorldOf(b, 1)
	setup := w.connect(b)
	setup.want("CREATE TABLE t (k int PRIMARY KEY, n int, s text)", "CREATE TABLE")
	setup.want("INSERT INTO t SELECT i, i, 'some text' FROM generate_series(1, 10000) i", "INSERT 0 10000")
	next := 10000
	for _, x := range []struct {
		name string
		text func() string
	}{
		{"select", func() string { return "SELECT n FROM t WHERE k = " + strconv.Itoa(next*7919%10000+1) }},
		{"insert", func() string { return "INSERT INTO t VALUES (" + strconv.Itoa(next) + ", 1, 'some text')" }},
		{"update", func() string {
			return "UPDATE t SET n = n + " + strconv.Itoa(next%100) + " WHERE k = " + strconv.Itoa(next*7919%10000+1)
		}},
	} {
		b.Run(x.name, func(b *testing.B) {
			c := w.connect(b)
			b.ReportAllocs()
			for b.Loop() {
				next++
				must(b, c.s.Simple(b.Context(), x.text(), &unread{}))
			}
		})
	}
}
