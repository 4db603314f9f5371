package pgcatalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// record reads the cells of a row by name. The position of a name is looked up once per table.
type record struct {
	places map[string]int
	row    []Cell
	err    error
}

// scan calls emit with each row of a catalog as a record.
func scan(table string, emit func(r *record)) error {
	var r *record
	return Scan(table, func(columns []string, row []Cell) error {
		if r == nil {
			r = &record{places: make(map[string]int, len(columns))}
			for i, c := range columns {
				r.places[c] = i
			}
		}
		r.row = row
		emit(r)
		return r.err
	})
}

func (r *record) cell(name string) Cell {
	i, ok := r.places[name]
	if !ok {
		r.err = fmt.Errorf("no column %s", name)
		return Cell{Null: true}
	}
	return r.row[i]
}

func (r *record) text(name string) string { return r.cell(name).Text }
func (r *record) bool(name string) bool   { return r.cell(name).Text == "t" }
func (r *record) oid(name string) uint32  { return r.parse(r.cell(name).Text) }
func (r *record) int(name string) int {
	n, err := strconv.Atoi(r.cell(name).Text)
	if err != nil {
		r.err = err
	}
	return n
}

func (r *record) byte(name string) byte {
	if s := r.cell(name).Text; s != "" {
		return s[0]
	}
	return 0
}

func (r *record) parse(s string) uint32 {
	if s == "" || s == "-" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		r.err = err
	}
	return uint32(n)
}

// oids reads an oidvector or an array of oid.
func (r *record) oids(name string) []uint32 {
	parts := strings.FieldsFunc(r.cell(name).Text, func(c rune) bool {
		return c == ' ' || c == ',' || c == '{' || c == '}'
	})
	if len(parts) == 0 {
		return nil
	}
	out := make([]uint32, len(parts))
	for i, p := range parts {
		out[i] = r.parse(p)
	}
	return out
}

// names reads a text array whose elements need no escapes except quotes.
func (r *record) names(name string) []string {
	s := strings.TrimSuffix(strings.TrimPrefix(r.cell(name).Text, "{"), "}")
	if s == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i, p := range parts {
		parts[i] = strings.Trim(p, `"`)
	}
	return parts
}

func (ix *index) loadNamespaces() error {
	return scan("pg_namespace", func(r *record) { ix.namespaces[r.oid("oid")] = r.text("nspname") })
}

func (ix *index) loadProcs() error {
	return scan("pg_proc", func(r *record) { ix.addProc(ix.proc(r)) })
}

// loadSherdProcs loads the functions of schema sherd. The rows of those that package sql/admin has are in
// a file.
func (ix *index) loadSherdProcs() error {
	for _, p := range sherdProcs() {
		ix.addProc(p)
	}
	return scan("sherd_proc", func(r *record) {
		p := ix.proc(r)
		p.Options, p.Comment = r.int("options"), r.text("description")
		ix.addProc(p)
	})
}

func (ix *index) proc(r *record) *Proc {
	p := &Proc{
		OID: r.oid("oid"), Name: r.text("proname"), Namespace: ix.namespaces[r.oid("pronamespace")],
		Kind: r.byte("prokind"), Strict: r.bool("proisstrict"), RetSet: r.bool("proretset"),
		Volatility: r.byte("provolatile"), ArgTypes: r.oids("proargtypes"), AllArgTypes: r.oids("proallargtypes"),
		ArgModes: strings.Join(r.names("proargmodes"), ""), ArgNames: r.names("proargnames"),
		RetType: r.oid("prorettype"), Variadic: r.oid("provariadic"), Src: r.text("prosrc"),
	}
	if d := r.cell("proargdefaults"); !d.Null {
		if err := json.Unmarshal([]byte(d.Text), &p.Defaults); err != nil {
			r.err = err
		}
	}
	return p
}

func (ix *index) addProc(p *Proc) {
	ix.procs[p.OID] = p
	ix.procsByName[p.Name] = append(ix.procsByName[p.Name], p)
}

func (ix *index) procName(oid uint32) string {
	if p := ix.procs[oid]; p != nil {
		return p.Name
	}
	return ""
}

func (ix *index) loadTypes() error {
	return scan("pg_type", func(r *record) {
		t := &Type{
			OID: r.oid("oid"), Name: r.text("typname"), Namespace: ix.namespaces[r.oid("typnamespace")],
			Len: int16(r.int("typlen")), ByVal: r.bool("typbyval"), Kind: r.byte("typtype"),
			Category:  r.byte("typcategory"),
			Preferred: r.bool("typispreferred"), Delim: r.byte("typdelim"), RelID: r.oid("typrelid"),
			Elem: r.oid("typelem"), Array: r.oid("typarray"), Subscript: ix.procName(r.oid("typsubscript")),
			Input:  ix.procName(r.oid("typinput")),
			Output: ix.procName(r.oid("typoutput")), Align: r.byte("typalign"), Storage: r.byte("typstorage"),
			NotNull: r.bool("typnotnull"), BaseType: r.oid("typbasetype"), Collation: r.oid("typcollation"),
		}
		ix.types[t.OID] = t
		ix.typesByName[t.Name] = append(ix.typesByName[t.Name], t)
		if t.RelID != 0 {
			ix.rowTypes[t.RelID] = t
		}
	})
}

func (ix *index) loadOperators() error {
	return scan("pg_operator", func(r *record) {
		o := &Operator{
			OID: r.oid("oid"), Name: r.text("oprname"), Kind: r.byte("oprkind"), Left: r.oid("oprleft"),
			Right: r.oid("oprright"), Result: r.oid("oprresult"), Proc: r.oid("oprcode"), Commutator: r.oid("oprcom"),
			Negator: r.oid("oprnegate"), CanHash: r.bool("oprcanhash"), CanMerge: r.bool("oprcanmerge"),
		}
		ix.ops[o.OID] = o
		ix.opsByName[o.Name] = append(ix.opsByName[o.Name], o)
	})
}

func (ix *index) loadCasts() error {
	return scan("pg_cast", func(r *record) {
		c := &Cast{
			Source: r.oid("castsource"), Target: r.oid("casttarget"), Func: r.oid("castfunc"),
			Context: r.byte("castcontext"), Method: r.byte("castmethod"),
		}
		ix.casts[[2]uint32{c.Source, c.Target}] = c
	})
}

func (ix *index) loadAggregates() error {
	return scan("pg_aggregate", func(r *record) {
		a := &Aggregate{Proc: r.oid("aggfnoid"), Kind: r.byte("aggkind"), NumDirect: r.int("aggnumdirectargs")}
		ix.aggs[a.Proc] = a
	})
}
