package subset

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// Reader says what the statements of a session read.
type Reader struct {
	Settings *settings.Values
	Database catalog.OID
	Warn     func(*pgerr.Error) // takes a warning for the client
}

// Check refuses a value of sherd.fragment that names no fragment of the database.
func (r *Reader) Check(view *catalog.View, name, value string) error {
	d := view.Database(r.Database)
	if d == nil || !strings.EqualFold(name, settings.Fragment) {
		return nil
	}
	_, err := fragmentsOf(d, value)
	return err
}

// fragmentsOf returns the fragments that a value of sherd.fragment names: by name, or by the number
// in it.
func fragmentsOf(d *catalog.Database, value string) ([]shardmap.FragmentID, error) {
	var out []shardmap.FragmentID
	var names []string
	for i := range d.Fragments {
		names = append(names, d.FragmentName(&d.Fragments[i]))
	}
next:
	for _, name := range settings.FragmentList(value) {
		for i := range d.Fragments {
			if f := &d.Fragments[i]; name == names[i] || name == strconv.Itoa(f.Ordinal) {
				out = append(out, f.ID)
				continue next
			}
		}
		return nil, pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`,
			settings.Fragment, value).
			WithDetail(`Database "%s" has no fragment "%s". Its fragments are %s.`, d.Name, name,
				strings.Join(names, ", ")).
			WithHint("SET %s = '%s' reads one of them, SET %s = '' reads all.", settings.Fragment,
				names[0], settings.Fragment)
	}
	return out, nil
}

// Part returns the part of the data that a client's statement reads by sherd.fragment; nil means
// everything. In a transaction with one snapshot, the bucket map of that snapshot decides what a
// fragment owns. So sessions that share a snapshot and read one fragment each read every row once,
// even if buckets move.
func (r *Reader) Part(t *tx.Tx, p *stmt.Program) (*exec.Part, error) {
	value, _ := r.Settings.Get(settings.Fragment)
	d := t.View().Database(r.Database)
	if value == "" || d == nil || !p.Exec.Reads() {
		return nil, nil
	}
	if keepsWhatItReads(p) {
		return nil, r.CheckAll(p)
	}
	list, err := fragmentsOf(d, value)
	if err != nil {
		return nil, err
	}
	part := &exec.Part{Map: t.PartMap()}
	for _, f := range list {
		part.Buckets = part.Buckets.Union(part.Map.Owned(f))
	}
	return part, nil
}

// keepsWhatItReads reports whether more than the answer depends on what the program reads: it
// writes or locks rows, sets a sequence, or changes definitions.
func keepsWhatItReads(p *stmt.Program) bool {
	if p.Writes || p.LocksRows() {
		return true
	}
	keeps := false
	if p.Query != nil {
		query.WalkQuery(p.Query, func(e query.Expr, _ int) {
			if c, ok := e.(*query.Call); ok && c.Proc != nil {
				keeps = keeps || stmt.DefiningFunctions[c.Proc.Src] || c.Proc.Src == "setval_oid" ||
					c.Proc.Src == "setval3_oid"
			}
		})
	}
	return keeps
}

// CheckAll refuses a statement that writes or locks what it reads, if it would read some fragments
// only.
func (r *Reader) CheckAll(p *stmt.Program) error {
	value, _ := r.Settings.Get(settings.Fragment)
	if value == "" || !p.Exec.Reads() {
		return nil
	}
	return pgerr.Unsupported("rows cannot be written or locked by what is read in some fragments only").
		WithDetail(`%s is "%s".`, settings.Fragment, value).
		WithHint("SET %s = '' reads all fragments.", settings.Fragment)
}
