package pgcatalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"
	"sync"
)

//go:embed data/*.tsv.gz data/sherd_proc.tsv
var files embed.FS

// Cell is a field of a system catalog's row in PostgreSQL's text form.
type Cell struct {
	Text string
	Null bool
}

// text returns a file as one string; cells are substrings of it.
func text(table string) (string, error) {
	if plain, err := files.ReadFile("data/" + table + ".tsv"); err == nil {
		return string(plain), nil
	}
	packed, err := files.ReadFile("data/" + table + ".tsv.gz")
	if err != nil {
		return "", fmt.Errorf("no data of %s: %w", table, err)
	}
	r, err := gzip.NewReader(bufio.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(8 * len(packed))
	if _, err := io.Copy(&b, r); err != nil {
		return "", err
	}
	return b.String(), nil
}

// HasRows reports whether the rows of PostgreSQL's own objects in this catalog are embedded.
func HasRows(table string) bool {
	f, err := files.Open("data/" + table + ".tsv.gz")
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Scan emits the rows that a pg_catalog table has after PostgreSQL's initdb, without Sherd's
// additions. columns has the names of the cells; regproc columns have OIDs. A row is valid only
// during emit; its texts stay valid.
func Scan(table string, emit func(columns []string, row []Cell) error) error {
	s, err := text(table)
	if err != nil {
		return err
	}
	head, s, _ := strings.Cut(s, "\n")
	columns := strings.Split(head, "\t")
	row := make([]Cell, len(columns))
	for s != "" {
		var line string
		line, s, _ = strings.Cut(s, "\n")
		for i := range row {
			var field string
			field, line, _ = strings.Cut(line, "\t")
			row[i] = cell(field)
		}
		if err := emit(columns, row); err != nil {
			return err
		}
	}
	return nil
}

// cell decodes the escapes of COPY.
func cell(field string) Cell {
	if field == `\N` {
		return Cell{Null: true}
	}
	if strings.IndexByte(field, '\\') >= 0 {
		field = unescape.Replace(field)
	}
	return Cell{Text: field}
}

var unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\b`, "\b", `\f`, "\f", `\v`, "\v")

// index has the data for all lookups; it is immutable once built.
type index struct {
	procs       map[uint32]*Proc
	procsByName map[string][]*Proc
	types       map[uint32]*Type
	typesByName map[string][]*Type
	ops         map[uint32]*Operator
	opsByName   map[string][]*Operator
	casts       map[[2]uint32]*Cast
	aggs        map[uint32]*Aggregate
	namespaces  map[uint32]string
	sort        map[uint32]*SortOps
	rowTypes    map[uint32]*Type // by relation
}

var catalogs = sync.OnceValue(func() *index {
	ix := &index{
		procs: make(map[uint32]*Proc, 4096), procsByName: make(map[string][]*Proc, 4096),
		types: make(map[uint32]*Type, 1024), typesByName: make(map[string][]*Type, 1024),
		ops: make(map[uint32]*Operator, 1024), opsByName: make(map[string][]*Operator, 128),
		casts: make(map[[2]uint32]*Cast, 256), aggs: make(map[uint32]*Aggregate, 256),
		namespaces: map[uint32]string{SherdNamespace: "sherd"},
		sort:       map[uint32]*SortOps{}, rowTypes: map[uint32]*Type{},
	}
	for _, load := range []func() error{
		ix.loadNamespaces, ix.loadProcs, ix.loadTypes, ix.loadOperators, ix.loadCasts, ix.loadAggregates,
		ix.loadSortOps, ix.loadSherdProcs,
	} {
		if err := load(); err != nil {
			panic(fmt.Sprintf("pgcatalog: embedded data: %v", err)) // the binary is damaged
		}
	}
	return ix
})
