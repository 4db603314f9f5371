package sampling

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// field is what is sampled: a column of the table, or an expression in the key of an index or of a
// statistics object.
type field struct {
	statistics.Key
	text string // SQL
	// The output column with its value. If sized, the next one has its size, and the value is null if
	// it is too wide. where is the one that says whether the row is in the partial index; -1: all are.
	at, where int
	sized     bool
	typ       types.OID
	target    int // of statistics
}

// selection is the SELECT of a sample.
type selection struct {
	fields  []field
	outputs []string
	// The target of what has none of its own, and the largest of all.
	target, largest int
	objects         []object
	missed          []*catalog.ExtendedStatistics // objects with columns that are not sampled
}

func (s *selection) output(text string) int {
	s.outputs = append(s.outputs, text)
	return len(s.outputs) - 1
}

// targetOf returns a target, or the one of what has none of its own.
func (s *selection) targetOf(own int) int {
	if own < 0 {
		return s.target
	}
	return own
}

// add adds a column or expression. Types whose values may be wide are cut in the fragment.
func (s *selection) add(f field, text string, wide bool) {
	f.text, f.sized, s.largest = text, wide, max(s.largest, f.target)
	if wide {
		f.at = s.output(fmt.Sprintf("CASE WHEN pg_column_size(%s) <= %d THEN %s END", text, maxSize, text))
		s.output(fmt.Sprintf("pg_column_size(%s)", text))
	} else {
		f.at = s.output(text)
	}
	s.fields = append(s.fields, f)
}

// maxSize is the largest size of a value that is sent: MaxWidth with a header.
const maxSize = statistics.MaxWidth + 4

// mayBeWide reports whether values of a kind have any size.
func mayBeWide(oid types.OID) bool {
	switch types.KindOf(oid) {
	case types.KindText, types.KindBytes, types.KindJSONB, types.KindJSONPath, types.KindArray, types.KindRecord,
		types.KindBit:
		return true
	}
	return false
}

// columns adds the columns of a table with these numbers; nil: all.
func (s *selection) columns(t *catalog.Table, only []int16) {
	for i := range t.Columns {
		c := &t.Columns[i]
		target := s.targetOf(c.StatisticsTarget())
		if c.Dropped || target == 0 || only != nil && !contains(only, c.AttNum) {
			continue
		}
		f := field{Key: statistics.Key{Position: c.AttNum}, where: -1, target: target}
		s.add(f, builtin.QuoteIdent(c.Name), mayBeWide(c.Type))
	}
}

// expressions adds the expressions in the keys of a table's indexes. A value that the index does not
// have is not computed: the expression may be an error there.
func (s *selection) expressions(t *catalog.Table) {
	for i := range t.Indexes {
		x := &t.Indexes[i]
		if x.State != catalog.IndexPublic || len(x.Expressions) == 0 {
			continue
		}
		where := -1
		if x.Predicate != "" {
			where = s.output("(" + x.Predicate + ")")
		}
		n := 0
		for k, column := range x.Columns {
			if column != 0 || n >= len(x.Expressions) {
				continue
			}
			text := "(" + x.Expressions[n] + ")"
			if n++; where >= 0 {
				text = fmt.Sprintf("(CASE WHEN %s THEN %s END)", x.Predicate, text)
			}
			f := field{Key: statistics.Key{Index: x.OID, Position: int16(k + 1)}, where: where}
			if f.target = s.targetOf(x.StatisticsTarget(k)); f.target > 0 {
				s.add(f, text, true)
			}
		}
	}
}

func contains(list []int16, n int16) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// text returns the SELECT, of all rows or of those that a condition chooses.
func (s *selection) text(schema string, t *catalog.Table, condition string) string {
	outputs := s.outputs
	if len(outputs) == 0 {
		outputs = []string{"1"}
	}
	out := fmt.Sprintf("SELECT %s FROM %s.%s", strings.Join(outputs, ", "), builtin.QuoteIdent(schema),
		builtin.QuoteIdent(t.Name))
	if condition != "" {
		out += " WHERE " + condition
	}
	return out
}

// keep copies what is needed of a row: it is valid only while it is emitted.
func (s *selection) keep(row []types.Datum) []types.Datum {
	out := make([]types.Datum, len(row))
	for i, d := range row {
		out[i] = d.Clone()
	}
	for _, f := range s.fields {
		if f.sized && out[f.at].IsNull() && !out[f.at+1].IsNull() {
			out[f.at] = statistics.Wide(int(out[f.at+1].N))
		}
	}
	return out
}

// values returns the values of a field in a sample of rows.
func (f *field) values(rows [][]types.Datum) []types.Datum {
	out := make([]types.Datum, 0, len(rows))
	for _, r := range rows {
		if f.where < 0 || r[f.where].Bool() {
			out = append(out, r[f.at])
		}
	}
	return out
}
