package comparison

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/integration"
)

// TestPlans loads data into a node and compares the plan of each case with the one in its file. The
// flag -rewrite writes the plans.
func TestPlans(t *testing.T, data *Data, files string) {
	t.Helper()
	node := integration.StartT(t, sherdBinary(t), filepath.Join(t.TempDir(), "data"))
	conn := integration.Connect(t, node.URL).PgConn()
	for _, text := range []string{
		"ALTER SYSTEM SET autovacuum = off",
		// Tables are then read whole by ANALYZE: a sample would be another one in each run.
		"SET default_statistics_target = 400",
	} {
		if err := conn.Exec(t.Context(), text).Close(); err != nil {
			t.Fatal(err)
		}
	}
	skipped, err := data.Load(t.Context(), conn, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range skipped {
		t.Log("not supported:", text)
	}
	datadriven.Walk(t, files, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := NewCase("", d.FullCmd(), d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			lines, err := Explain(t.Context(), conn, &c)
			if err != nil {
				return err.Error()
			}
			return strings.Join(lines, "\n")
		})
	})
}

// TestFragments loads data into nodes whose databases have different numbers of fragments. All must
// return the same rows for each case.
func TestFragments(t *testing.T, data *Data, cases []Case, numbers ...int) {
	t.Helper()
	binary := sherdBinary(t)
	var nodes []*subject
	for _, n := range numbers {
		fragments := strconv.Itoa(n)
		node := integration.StartT(t, binary, filepath.Join(t.TempDir(), fragments), "--fragments", fragments)
		s := &subject{name: fragments + " fragments", url: node.URL, sherd: true, timeout: time.Minute}
		if err := s.load(t.Context(), data, io.Discard); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, s)
	}
	for i := range cases {
		c := &cases[i]
		want, wantErr := nodes[0].answer(t.Context(), c)
		for _, s := range nodes[1:] {
			got, err := s.answer(t.Context(), c)
			if wantErr != nil || err != nil {
				if pgCode(err) != pgCode(wantErr) {
					t.Errorf("%s: %s: %v, %s: %v", c.Name, s.name, err, nodes[0].name, wantErr)
				}
				continue
			}
			if d := difference(want, got, c.Ordered()); d != "" {
				t.Errorf("%s: %s, %s: %s", c.Name, nodes[0].name, s.name, d)
			}
		}
	}
}

// sherdBinary returns the program that SHERD_BINARY names, or builds it.
func sherdBinary(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("SHERD_BINARY"); binary != "" {
		return binary
	}
	binary, err := integration.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
