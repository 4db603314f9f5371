package comparison

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/integration"
)

// TestPlans loads data into a node and compares the plan of each case with the one in its file. The
// flag -rewrite writes the plans.
func TestPlans(t *testing.T, data *Data, files string) {
	t.Helper()
	binary := os.Getenv("SHERD_BINARY")
	if binary == "" {
		var err error
		if binary, err = integration.Build(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	conn := integration.Connect(t, integration.StartT(t, binary, filepath.Join(t.TempDir(), "data")).URL).PgConn()
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
