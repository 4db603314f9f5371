package pgwire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// constantSession answers every statement with one row, as cheaply as can be: what a benchmark with
// it measures is the wire.
type constantSession struct {
	*scriptSession
	columns []stmt.Column
	row     []types.Datum
}

func (s *constantSession) Simple(ctx context.Context, _ string, w stmt.ResultWriter) error {
	if err := w.Describe(s.columns); err != nil {
		return err
	}
	_, err := s.Execute(ctx, "", 0, w)
	return err
}

func (s *constantSession) Execute(_ context.Context, _ string, _ int, w stmt.ResultWriter) (bool, error) {
	if err := w.Row(s.row); err != nil {
		return false, err
	}
	return false, w.Complete("SELECT 1")
}

func (s *constantSession) Parse(context.Context, string, string, []types.OID) error { return nil }
func (s *constantSession) Bind(context.Context, string, string, []types.Datum) error {
	return nil
}
func (s *constantSession) DescribeStatement(context.Context, string) (session.Description, error) {
	return session.Description{Columns: s.columns, Params: []types.OID{types.Int4}[:1:1]}, nil
}
func (s *constantSession) DescribePortal(context.Context, string) (session.Description, error) {
	return session.Description{Columns: s.columns}, nil
}

func constantServer(b testing.TB) string {
	cfg := scriptConfig()
	cfg.NewSession = func(_ context.Context, p session.StartupParams) (Session, error) {
		return &constantSession{
			newScriptSession(p), []stmt.Column{column("?column?", types.Int4)}, []types.Datum{types.NewInt(1)},
		}, nil
	}
	_, addr := startServer(b, cfg)
	return addr
}

// pingPong sends the same bytes again and again from each client and waits for the answer to each,
// whose size does not change.
func pingPong(b *testing.B, clients int, question []byte) {
	addr := constantServer(b)
	b.ReportAllocs()
	b.SetParallelism(clients)
	b.RunParallel(func(pb *testing.PB) {
		c := connect(b, addr)
		c.write(question)
		first := &counter{r: c.r}
		(&client{t: b, nc: c.nc, r: bufio.NewReader(first)}).until('Z')
		answer := make([]byte, first.n)
		for pb.Next() {
			if _, err := c.nc.Write(question); err != nil {
				b.Error(err)
				return
			}
			if _, err := io.ReadFull(c.nc, answer); err != nil {
				b.Error(err)
				return
			}
		}
		_ = c.nc.(*net.TCPConn).Close()
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func BenchmarkPingPongSimple(b *testing.B) {
	pingPong(b, 8, frame('Q', []byte("select 1\x00")))
}

func BenchmarkPingPongExtended(b *testing.B) {
	var q []byte
	q = append(q, frame(
		'B', []byte("\x00\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07\x00\x01\x00\x01"),
	)...)
	q = append(q, frame('E', []byte("\x00\x00\x00\x00\x00"))...)
	q = append(q, frame('S', nil)...)
	pingPong(b, 8, q)
}

// benchRow is a row with a text of n bytes.
func benchRow(n int) ([]stmt.Column, []types.Datum) {
	return []stmt.Column{
			column("a", types.Int4), column("b", types.Text), column("c", types.Int4), column("d", types.Text),
		},
		[]types.Datum{types.NewInt(123456), types.NewText(strings.Repeat("x", n)), types.Null, types.NewText("x")}
}

var rowSizes = []int{20, 1000, 10000}

// BenchmarkRow is the encoding of rows alone.
func BenchmarkRow(b *testing.B) {
	for _, n := range rowSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := NewServer(scriptConfig())
			defer s.Close()
			c := newConn(s, &stream{})
			c.session = newScriptSession(session.StartupParams{})
			columns, row := benchRow(n)
			c.results.portal(columns, nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.results.Row(row); err != nil {
					b.Fatal(err)
				}
				if len(c.out.b) > flushAt-2*n {
					c.out.b = c.out.b[:0]
				}
			}
		})
	}
}

// BenchmarkRowByLibrary is the same through pgproto3.DataRow, which wants a slice for each value
// and copies it once more.
func BenchmarkRowByLibrary(b *testing.B) {
	for _, n := range rowSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			columns, row := benchRow(n)
			var out, values []byte
			m := pgproto3.DataRow{Values: make([][]byte, len(row))}
			b.ReportAllocs()
			for b.Loop() {
				values = values[:0]
				for i, d := range row {
					m.Values[i] = nil
					if !d.IsNull() {
						start := len(values)
						values = types.AppendOutput(values, columns[i].Type, d, nil)
						m.Values[i] = values[start:len(values):len(values)]
					}
				}
				var err error
				if out, err = m.Encode(out); err != nil {
					b.Fatal(err)
				}
				if len(out) > flushAt-2*n {
					out = out[:0]
				}
			}
		})
	}
}
