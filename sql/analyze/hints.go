package analyze

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

const maxFuzzy = 3

// nearest finds the columns whose names are closest to a misspelled one (FuzzyAttrMatchState).
type nearest struct {
	distance      int
	first, second *nameMatch
	exact         *nameMatch
}

type nameMatch struct{ alias, column string }

func (n *nearest) try(alias, column, wanted string, penalty int) {
	limit := n.distance + 1 - penalty
	if limit < 0 {
		return
	}
	d := levenshtein(column, wanted)
	if d > limit || d > len(wanted)/2 {
		return
	}
	d += penalty
	m := &nameMatch{alias, column}
	switch {
	case d < n.distance:
		n.distance, n.first, n.second = d, m, nil
	case d == n.distance && n.second != nil:
		n.distance, n.first, n.second = d-1, nil, nil
	case d == n.distance && n.first != nil:
		n.second = m
	case d == n.distance && n.distance <= maxFuzzy:
		n.first = m
	}
}

// missingColumn is errorMissingColumn.
func (s *scope) missingColumn(rel, column string, loc int32) error {
	n := nearest{distance: maxFuzzy + 1}
	for level := s; level != nil && n.exact == nil; level = level.parent {
		for _, r := range level.q.Rels {
			if r == nil || r.Alias == "" {
				continue
			}
			penalty := 0
			if rel != "" {
				penalty = min(levenshtein(rel, r.Alias), maxFuzzy+1)
			}
			if penalty > n.distance {
				continue
			}
			for _, c := range r.Columns {
				if c.Dropped {
					continue
				}
				if c.Name == column && rel == "" {
					n.exact = &nameMatch{r.Alias, c.Name}
					break
				}
				n.try(r.Alias, c.Name, column, penalty)
			}
		}
	}
	e := s.errorf(loc, pgerr.UndefinedColumn, "column %q does not exist", column)
	if rel != "" {
		e.Message = "column " + rel + "." + column + " does not exist"
	}
	switch {
	case n.exact != nil:
		e.Hint = `There is a column named "` + column + `" in table "` + n.exact.alias +
			`", but it cannot be referenced from this part of the query.`
	case n.first != nil && n.second != nil:
		e.Hint = `Perhaps you meant to reference the column "` + n.first.alias + "." + n.first.column +
			`" or the column "` + n.second.alias + "." + n.second.column + `".`
	case n.first != nil:
		e.Hint = `Perhaps you meant to reference the column "` + n.first.alias + "." + n.first.column + `".`
	}
	return e
}

// missingTable is errorMissingRTE.
func (s *scope) missingTable(schema, name string, loc int32) error {
	shown := name
	if schema != "" {
		shown = schema + "." + name
	}
	for level := s; level != nil; level = level.parent {
		for _, r := range level.q.Rels {
			if r == nil {
				continue
			}
			if schema == "" && r.Alias == name {
				e := s.errorf(loc, pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table %q", shown)
				return e.WithHint(
					"There is an entry for table %q, but it cannot be referenced from this part of the query.", shown)
			}
			if r.Table != nil && r.Table.Name == name && r.Alias != name && schema == "" {
				return s.errorf(loc, pgerr.UndefinedTable, "invalid reference to FROM-clause entry for table %q",
					shown).
					WithHint("Perhaps you meant to reference the table alias %q.", r.Alias)
			}
		}
	}
	return s.errorf(loc, pgerr.UndefinedTable, "missing FROM-clause entry for table %q", name)
}

// levenshtein counts insertions, deletions and substitutions.
func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
