package psql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts reads scripts. "-- data" before a statement asks for the data of a COPY after it,
// "-- store NAME VALUE" acts as if \gset had stored a value.
func TestScripts(t *testing.T) {
	datadriven.RunTest(t, "testdata/scripts.txt", func(t *testing.T, d *datadriven.TestData) string {
		r := NewReader(d.Input)
		r.Environment = map[string]string{"HOME": "/home/me"}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "store":
				r.Store(a.Vals[0], &a.Vals[1])
			case "escapes":
				r.StandardStrings(false)
			}
		}
		var b strings.Builder
		for step, ok := r.Next(); ok; step, ok = r.Next() {
			fmt.Fprintf(&b, "%d ", step.Line)
			switch step.Kind {
			case Connect:
				fmt.Fprintf(&b, "connect %q\n", step.Args)
			case CopyFile:
				fmt.Fprintf(&b, "copy %q\n", step.Args)
			default:
				fmt.Fprintf(&b, "%q", step.Text.With(map[string]string{"there": "of the other server"}))
				if step.After != nil {
					fmt.Fprintf(&b, " then %q", step.After)
				}
				b.WriteByte('\n')
				if strings.Contains(strings.ToLower(step.Text.With(nil)), "from stdin") {
					fmt.Fprintf(&b, "data %q\n", r.Data())
				}
			}
		}
		return b.String()
	})
}
