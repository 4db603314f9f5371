package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sherddb/sherd/"

// mayImport lists, for each folder, the folders of ours that it may import (docs/architecture.md). internal/pgerr is open to all.
var mayImport = map[string][]string{
	"shardmap":             {},
	"shardmap/balance":     {"shardmap"},
	"jsonb":                {},
	"jsonb/jsonpath":       {"internal/regexrun", "jsonb"},
	"importer":             {},
	"integration/bench":    {"integration/fault"},
	"integration/tenants":  {"integration"},
	"integration/large":    {"integration"},
	"integration/broken":   {},
	"integration/fault":    {"integration", "integration/workload", "internal/faultnet"},
	"integration/history":  {},
	"integration/workload": {"integration/history"},
	"raftlog":              {"internal/dirsync"},
	"raftgroup":            {"raftlog", "internal/dirsync", "internal/sparse", "txn/rule"},
	"txn":                  {"shardmap", "txn/protocol"},
	"txn/locks":            {"txn"},
	"txn/protocol":         {"txn/rule"},
	"txn/rule":             {},
	"storage":              {"shardmap", "txn", "txn/protocol", "txn/rule", "raftgroup", "raftlog", "internal/clusterversion", "internal/dirsync", "internal/sparse", "storage/codec", "storage/counts", "storage/engine", "storage/guards", "storage/install", "storage/keymoves", "storage/keyspace", "storage/keysummary", "storage/locktable", "storage/logentry", "storage/marker", "storage/owned", "storage/ownership", "storage/pins", "storage/proposer", "storage/readset", "storage/scratch", "storage/stopper", "storage/truncation", "storage/writebuf"},
	"storage/codec":        {"shardmap", "txn"},
	"storage/counts":       {"shardmap", "storage/codec", "storage/keyspace", "storage/logentry", "txn"},
	"storage/engine":       {"internal/dirsync", "storage/keyspace", "storage/logentry", "txn"},
	"storage/guards":       {"storage/locktable", "storage/readset", "txn"},
	"storage/install":      {"storage/engine", "storage/keyspace", "storage/keysummary", "storage/logentry", "storage/stopper", "txn"},
	"storage/keymoves":     {"txn"},
	"storage/keyspace":     {"shardmap", "storage/logentry", "txn"},
	"storage/keysummary":   {"shardmap", "storage/keyspace", "storage/logentry", "txn"},
	"storage/locktable":    {"storage/codec", "storage/scratch", "txn"},
	"storage/logentry":     {"shardmap", "storage/codec", "txn"},
	"storage/marker":       {"internal/dirsync"},
	"storage/owned":        {"storage/keyspace", "storage/logentry", "storage/ownership", "storage/pins", "storage/proposer", "txn"},
	"storage/ownership":    {"shardmap", "storage/codec", "txn", "txn/rule"},
	"storage/pins":         {"txn"},
	"storage/proposer":     {"raftgroup", "storage/logentry", "txn", "txn/rule"},
	"storage/readset":      {"storage/keyspace", "storage/logentry", "storage/owned", "storage/ownership", "txn"},
	"storage/scratch":      {},
	"storage/stopper":      {},
	"storage/truncation":   {"internal/dirsync", "txn"},
	"storage/writebuf":     {"storage/codec", "storage/logentry", "storage/scratch", "txn"},
	"catalog":              {"shardmap", "internal/clusterversion", "internal/dirsync", "internal/sparse", "raftgroup", "catalog/catalogpb"},
	"sql/types":            {"jsonb", "jsonb/jsonpath", "shardmap"},
	"sql/pgcatalog":        {},
	"sql/query":            {"catalog", "sql/pgcatalog", "sql/types"},
	"sql/query/querytest":  {"sql/pgcatalog", "sql/query", "sql/types"},
	"sql/advice":           {"jsonb", "shardmap"},
	"sql/builtin":          {"internal/regexrun", "jsonb", "jsonb/jsonpath", "shardmap", "sql/pgcatalog", "sql/types"},
	"sql/parse":            {"internal/recent"},
	"sql/analyze":          {"catalog", "jsonb", "jsonb/jsonpath", "shardmap", "sql/builtin", "sql/parse", "sql/pgcatalog", "sql/query", "sql/types"},
	"sql/plan":             {"catalog", "jsonb", "shardmap", "sql/builtin", "sql/pgcatalog", "sql/query", "sql/types", "sql/analyze"},
	"sql/plan/wire":        {"catalog", "sql/builtin", "sql/pgcatalog", "sql/plan", "sql/query", "sql/types"},
	"sql/plan/walk":        {"sql/plan", "sql/query"},
	"sql/distexec":         {"catalog", "cluster/failure", "cluster/nodepb", "cluster/remote", "fragment", "kv", "rebalance/heat", "shardmap", "shardmap/balance", "sql/exec", "sql/exec/wire", "sql/plan", "sql/plan/wire", "sql/sysview", "sql/types", "storage", "storage/keyspace", "txn"},
	"sql/taskserver":       {"catalog", "cluster/door", "cluster/failure", "cluster/nodepb", "fragment", "sql/builtin", "sql/distexec", "sql/exec", "sql/exec/memory", "sql/exec/wire", "sql/pgcatalog", "sql/plan/wire", "sql/sysview", "sql/types", "txn"},
	"sql/exec":             {"catalog", "jsonb", "shardmap", "sql/builtin", "sql/exec/expr", "sql/exec/keychange", "sql/exec/memory", "sql/exec/operator", "sql/exec/route", "sql/exec/splitdoc", "sql/exec/spool", "sql/exec/table", "sql/pgcatalog", "sql/plan", "sql/plan/walk", "sql/query", "sql/types", "txn"},
	"sql/exec/keychange":   {"catalog", "sql/exec/memory", "sql/exec/spool", "sql/exec/table", "sql/plan", "sql/types"},
	"sql/exec/splitdoc":    {"catalog", "jsonb", "sql/exec/expr", "sql/exec/table", "sql/plan", "sql/types"},
	"sql/exec/spool":       {"sql/exec/memory", "sql/types"},
	"sql/exec/route":       {"shardmap", "sql/exec/expr", "sql/exec/table", "sql/plan", "sql/plan/walk", "sql/query", "sql/types", "txn"},
	"sql/exec/expr":        {"jsonb", "sql/builtin", "sql/pgcatalog", "sql/query", "sql/types"},
	"sql/exec/memory":      {"sql/types"},
	"sql/exec/operator":    {"sql/builtin", "sql/exec/expr", "sql/exec/memory", "sql/plan", "sql/plan/walk", "sql/query", "sql/types"},
	"sql/exec/table":       {"catalog", "jsonb", "rebalance/rows", "shardmap", "sql/builtin", "sql/exec/expr", "sql/plan", "sql/query", "sql/types", "txn"},
	"sql/exec/wire":        {"catalog", "sql/builtin", "sql/exec", "sql/exec/keychange", "sql/types", "txn"},
	"sql/settings":         {"sql/pgcatalog", "sql/types"},
	"sql/forward":          {"catalog", "sql/builtin", "sql/query", "sql/types"},
	"sql/refint":           {"catalog", "sql/builtin", "sql/types"},
	"sql/copydata":         {},
	"sql/ddl":              {"catalog", "internal/scramsecret", "shardmap", "shardmap/balance", "sql/analyze", "sql/builtin", "sql/forward", "sql/parse", "sql/pgcatalog", "sql/query", "sql/refint", "sql/settings", "sql/types"},
	"sql/verify":           {"catalog", "shardmap", "sql/exec", "sql/exec/expr", "sql/exec/keychange", "sql/exec/splitdoc", "sql/exec/table", "sql/plan", "sql/refint", "sql/types", "txn"},
	"sql/verify/running":   {"catalog", "cluster/nodepb", "cluster/presence", "fragment", "kv", "sql/exec", "sql/verify", "storage", "storage/counts", "storage/keyspace", "txn"},
	"sql/verify/stopped":   {"catalog", "raftlog", "sql/exec", "sql/verify", "storage", "storage/counts", "storage/engine", "storage/keyspace", "txn"},
	"sql/sysview":          {"catalog", "shardmap", "sql/analyze", "sql/builtin", "sql/pgcatalog", "sql/settings", "sql/types"},
	"sql/tx":               {"catalog", "shardmap", "sql/exec", "sql/exec/table", "sql/types", "txn", "txn/locks"},
	"sql/txblock":          {"catalog", "sql/exec/table", "sql/integrity", "sql/monitor", "sql/notify", "sql/schemachange", "sql/sequence", "sql/settings", "sql/stmt", "sql/tx", "txn"},
	"sql/explain":          {"catalog", "shardmap", "sql/exec", "sql/plan", "sql/settings", "sql/stmt", "sql/sysview", "sql/txblock", "sql/types"},
	"sql/subset":           {"catalog", "shardmap", "sql/exec", "sql/query", "sql/settings", "sql/stmt", "sql/tx", "txn"},
	"sql/parameter":        {"sql/settings", "sql/stmt", "sql/txblock", "sql/types"},
	"sql/stmt":             {"catalog", "internal/recent", "sql/analyze", "sql/builtin", "sql/exec", "sql/exec/expr", "sql/exec/memory", "sql/exec/operator", "sql/forward", "sql/parse", "sql/pgcatalog", "sql/plan", "sql/query", "sql/tx", "sql/types", "txn", "txn/locks"},
	"sql/admin":            {"catalog", "jsonb", "shardmap", "sql/advice", "sql/analyze", "sql/builtin", "sql/counters", "sql/ddl", "sql/exec", "sql/exec/expr", "sql/exec/table", "sql/forward", "sql/pgcatalog", "sql/plan", "sql/refint", "sql/schemachange", "sql/settings", "sql/stmt", "sql/sysview", "sql/tx", "sql/types", "sql/verify", "txn"},
	"sql":                  {"catalog", "internal/scramsecret", "jsonb", "shardmap", "sql/admin", "sql/advice", "sql/analyze", "sql/builtin", "sql/copy", "sql/counters", "sql/ddl", "sql/exec", "sql/exec/expr", "sql/exec/memory", "sql/exec/operator", "sql/exec/table", "sql/explain", "sql/forward", "sql/integrity", "sql/monitor", "sql/notify", "sql/parameter", "sql/parse", "sql/pgcatalog", "sql/plan", "sql/plan/walk", "sql/portal", "sql/proof", "sql/query", "sql/refint", "sql/schemachange", "sql/sequence", "sql/settings", "sql/stmt", "sql/subset", "sql/sysview", "sql/tx", "sql/txblock", "sql/types", "sql/verify", "txn", "txn/locks"},
	"sql/integrity":        {"catalog", "sql/builtin", "sql/exec", "sql/exec/keychange", "sql/exec/expr", "sql/forward", "sql/plan", "sql/query", "sql/refint", "sql/stmt", "sql/tx", "sql/types", "txn", "txn/locks"},
	"sql/portal":           {"catalog", "sql/analyze", "sql/exec", "sql/exec/expr", "sql/parse", "sql/plan", "sql/query", "sql/stmt", "sql/sysview", "sql/tx", "sql/types", "txn"},
	"sql/counters":         {"catalog", "shardmap", "sql/builtin", "sql/ddl", "sql/exec", "sql/exec/table", "sql/exec/expr", "sql/plan", "sql/plan/walk", "sql/query", "sql/stmt", "sql/sysview", "sql/tx", "sql/types"},
	"sql/copy":             {"catalog", "sql/analyze", "sql/builtin", "sql/copydata", "sql/exec", "sql/integrity", "sql/parse", "sql/plan", "sql/settings", "sql/stmt", "sql/tx", "sql/types", "txn", "txn/locks"},
	"sql/schemachange":     {"catalog", "shardmap", "sql/builtin", "sql/copy", "sql/ddl", "sql/exec", "sql/exec/expr", "sql/exec/table", "sql/forward", "sql/monitor", "sql/parse", "sql/pgcatalog", "sql/plan", "sql/query", "sql/stmt", "sql/sysview", "sql/tx", "sql/types", "txn", "txn/locks"},
	"sql/proof":            {"catalog", "sql/builtin", "sql/counters", "sql/exec", "sql/forward", "sql/refint", "sql/stmt", "sql/tx", "sql/types", "sql/verify", "txn/locks"},
	"sql/sequence":         {"catalog", "shardmap", "sql/analyze", "sql/builtin", "sql/exec", "sql/exec/expr", "sql/exec/memory", "sql/exec/operator", "sql/stmt", "sql/tx", "sql/types", "txn", "txn/locks"},
	"pgwire":               {"internal/scramsecret", "sql", "sql/monitor", "sql/notify", "sql/stmt", "sql/txblock", "sql/types"},
	"sql/monitor":          {"catalog", "sql/exec", "sql/exec/table", "sql/sysview", "sql/tx", "sql/types", "txn", "txn/locks"},
	"sql/monitor/activity": {"cluster/door", "cluster/nodepb", "shardmap", "sql/monitor", "sql/sysview", "sql/tx", "txn"},
	"sql/notify":           {"catalog", "txn"},
	"sql/notify/relay":     {"cluster/door", "cluster/nodepb", "sql/notify"},
	"cluster/trust":        {"internal/dirsync"},
	"cluster/nodepb":       {},
	"cluster/door":         {"cluster/nodepb", "cluster/trust"},
	"cluster/join":         {"cluster/door", "cluster/nodepb", "cluster/trust"},
	"cluster/member":       {"catalog", "cluster/join", "cluster/nodepb", "cluster/trust"},
	"cluster/failure":      {"cluster/nodepb", "kv", "storage", "txn"},
	"kv":                   {"catalog", "cluster/nodepb", "cluster/presence", "shardmap", "storage", "storage/proposer", "txn", "txn/rule"},
	"fragment":             {"catalog", "cluster/door", "cluster/failure", "cluster/nodepb", "kv", "rebalance/heat", "shardmap", "storage", "storage/counts", "storage/keyspace", "txn"},
	"cluster/raftnet":      {"cluster/door", "cluster/nodepb"},
	"cluster/catalognet":   {"catalog", "cluster/door", "cluster/nodepb", "cluster/raftnet"},
	"cluster/presence":     {"cluster/door", "cluster/nodepb", "txn"},
	"cluster/deadlock":     {"cluster/door", "cluster/nodepb", "txn"},
	"cluster/advisory":     {"catalog", "cluster/door", "cluster/nodepb", "txn", "txn/locks"},
	"cluster/tablelock":    {"catalog", "cluster/door", "cluster/nodepb", "cluster/presence", "txn", "txn/locks"},
	"rebalance/balance":    {"catalog", "shardmap", "shardmap/balance"},
	"cluster/remote":       {"catalog", "cluster/door", "cluster/failure", "cluster/nodepb", "kv", "shardmap", "storage", "txn"},
	"rebalance/heat":       {},
	"rebalance/rows":       {"catalog", "txn"},
	"rebalance/move":       {"catalog", "cluster/nodepb", "internal/clusterversion", "kv", "rebalance/rows", "shardmap", "storage", "storage/keyspace", "storage/owned", "txn"},
	"rebalance":            {"catalog", "cluster/nodepb", "fragment", "kv", "rebalance/balance", "rebalance/move", "rebalance/rows", "shardmap", "shardmap/balance", "storage", "storage/keyspace", "txn"},
	"cluster":              {"catalog", "cluster/door", "cluster/nodepb", "cluster/presence", "cluster/remote", "fragment", "internal/clusterversion", "internal/dirsync", "kv", "raftgroup", "raftlog", "rebalance", "rebalance/rows", "shardmap", "shardmap/balance", "storage", "storage/install", "storage/keyspace", "txn"},
	"node":                 {"*"},
	"node/nodetest":        {"*"},
	"cmd/sherd":            {"*"},
	"integration":          {"*"},
}

// TestNothingBelowSQLImportsIt checks the layers: SQL stands on fragments, which know no SQL.
func TestNothingBelowSQLImportsIt(t *testing.T) {
	below := []string{"catalog", "cluster", "fragment", "kv", "raftgroup", "raftlog", "rebalance", "shardmap", "storage", "txn"}
	for dir, allowed := range mayImport {
		if top, _, _ := strings.Cut(dir, "/"); !slices.Contains(below, top) {
			continue
		}
		for _, name := range allowed {
			if name == "sql" || strings.HasPrefix(name, "sql/") {
				t.Errorf("%s may import %s, which stands above it", dir, name)
			}
		}
	}
}

// file is a Go source file of the project.
type file struct {
	path   string // from the root, with slashes
	dir    string
	syntax *ast.File
	lines  int
}

func sources(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == "node_modules" || path != root && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, file{rel, strings.TrimSuffix(filepath.ToSlash(filepath.Dir(rel)), "/"), syntax, strings.Count(string(text), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found %d files: not the project's root", len(out))
	}
	return out
}

func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		allowed, listed := mayImport[f.dir]
		if strings.HasSuffix(f.path, "_test.go") || slices.Contains(allowed, "*") {
			continue
		}
		for _, imp := range f.syntax.Imports {
			name, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			if !ours || name == "internal/pgerr" || strings.HasPrefix(name, f.dir+"/internal") {
				continue
			}
			switch {
			case strings.HasPrefix(f.dir, "internal/"), strings.Contains(f.dir, "/internal/"):
			case !listed:
				t.Errorf("%s: folder %s is not in the list of who may import whom", f.path, f.dir)
			case !slices.Contains(allowed, name):
				t.Errorf("%s: %s may not import %s", f.path, f.dir, name)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		documented[f.dir] = documented[f.dir] || f.syntax.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no comment", dir)
		}
	}
}

// maxLines is the length at which a file has outgrown its noun.
const maxLines = 600

func TestFileLengths(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxLines && !strings.HasSuffix(f.path, "_test.go") && !strings.HasSuffix(f.path, ".pb.go") && !strings.HasSuffix(f.path, "_table.go") {
			t.Errorf("%s has %d lines; look for the noun that wants out", f.path, f.lines)
		}
	}
}

// TestDirectoriesAreDurable: what keeps a node's data makes its directories by dirsync, so that a power loss
// does not take them away with all that was acknowledged in them.
func TestDirectoriesAreDurable(t *testing.T) {
	scratch := []string{"storage/scratch/scratch.go", "storage/stopped.go"} // removed at the next start
	for _, f := range sources(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		if !slices.Contains([]string{"catalog", "cluster", "fragment", "kv", "node", "raftgroup", "raftlog", "rebalance", "storage"}, top) {
			continue
		}
		if strings.HasSuffix(f.path, "_test.go") || slices.Contains(scratch, f.path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"os.Mkdir(", "os.MkdirAll("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s: %s…) where dirsync.Make is to be used", f.path, call)
			}
		}
	}
}
