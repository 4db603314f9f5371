package nodetest

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/internal/scenario"
	"github.com/sherddb/sherd/node"
)

// TestScenarios plays testdata/scenarios. The first directive of a script is
//
//	cluster nodes=3 [fragments=N] [replication=N] [gateways=(2, 3)]
//
// Sessions connect to n1, or to `session b server=n2`. A script may also say
//
//	partition n1 n2     cuts the network between two nodes
//	isolate n2          cuts it between a node and all others
//	heal                restores it
//	stop n2             closes a node without waiting for its clients
//	restart n2          starts it again
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		t.Parallel()
		c := clusterOf(t, path)
		number := func(name string) uint32 {
			n, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
			if err != nil || n < 1 || n > len(c.Nodes()) {
				t.Fatalf("%q is no node", name)
			}
			return uint32(n)
		}
		do := func(f func(numbers []uint32)) scenario.Directive {
			return func(_ *testing.T, d *datadriven.TestData) string {
				var numbers []uint32
				for _, arg := range d.CmdArgs {
					numbers = append(numbers, number(arg.Key))
				}
				f(numbers)
				return ""
			}
		}
		scenario.Run(t, path, scenario.Config{
			URL: func(server string) string {
				if server == "" {
					server = "n1"
				}
				return c.Node(number(server)).URL()
			},
			Directives: map[string]scenario.Directive{
				"cluster":   func(*testing.T, *datadriven.TestData) string { return "" },
				"partition": do(func(n []uint32) { c.Cut(n[0], n[1]) }),
				"isolate":   do(func(n []uint32) { c.Isolate(n[0]) }),
				"heal":      do(func([]uint32) { c.Heal() }),
				"stop":      do(func(n []uint32) { c.Node(n[0]).Stop() }),
				"restart":   do(func(n []uint32) { c.Node(n[0]).Restart() }),
			},
		})
	})
}

// clusterOf starts the cluster that a script asks for.
func clusterOf(t *testing.T, path string) *Cluster {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "cluster ") {
			continue
		}
		d := datadriven.TestData{Pos: path}
		if _, d.CmdArgs, err = datadriven.ParseLine(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
		var nodes, fragments, replication int
		var gateways []uint32
		d.ScanArgs(t, "nodes", &nodes)
		d.MaybeScanArgs(t, "fragments", &fragments)
		d.MaybeScanArgs(t, "replication", &replication)
		d.MaybeScanArgs(t, "gateways", &gateways)
		return Start(t, nodes, func(n uint32, cfg *node.Config) {
			cfg.Fragments, cfg.Replication, cfg.Gateway = fragments, replication, slices.Contains(gateways, n)
		})
	}
	t.Fatalf("%s: no cluster", path)
	return nil
}
