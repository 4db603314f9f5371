// Package posting finds the rows of a search over terms in the entries of a GIN index. The entries of
// a term are its list.
//
// Of several lists that a row must be in, the shortest one is read, and others if they are not much
// longer, because the rows are tested again. How long a list is shows when its beginning is read.
package posting

import (
	"bytes"
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/gin"
)

const (
	firstRead = 64  // entries of each list that are read first
	moreReads = 8   // by which that grows while all lists are longer
	worthRead = 4   // entries that are read to exclude a row
	most      = 1e5 // rows that are kept
)

// Lists are the entries of an index in one fragment.
type Lists struct {
	// Read calls f with the keys of the rows in the list of a term, in the order of their primary keys.
	// It returns the error of f.
	Read   func(t gin.Term, f func(row []byte) error) error
	Memory *memory.Account

	grown int64
}

// rows are the keys of rows, in the order of their primary keys.
type rows [][]byte

// Find returns the keys of the rows that a search finds, in their order. ok is false if there are too
// many of them.
func (l *Lists) Find(s *gin.Search) (found [][]byte, ok bool, err error) {
	list, ok, err := l.find(s, most)
	if err == nil && ok {
		slices.SortFunc(list, bytes.Compare)
	}
	return list, ok, err
}

// Free releases the memory of the rows.
func (l *Lists) Free() {
	l.Memory.Release(l.grown)
	l.grown = 0
}

// find is Find for at most limit rows.
func (l *Lists) find(s *gin.Search, limit int) (found rows, ok bool, err error) {
	switch s.Kind {
	case gin.Some:
		return l.list(s.Term, limit)
	case gin.And:
		return l.all(s.Args, limit)
	case gin.Or:
		for i := range s.Args {
			more, ok, err := l.find(&s.Args[i], limit)
			if err != nil || !ok {
				return nil, false, err
			}
			if found = union(found, more); len(found) > limit {
				return nil, false, nil
			}
		}
		return found, true, nil
	}
	return nil, false, nil
}

// list reads the list of a term.
func (l *Lists) list(t gin.Term, limit int) (found rows, ok bool, err error) {
	var chunk []byte
	err = l.Read(t, func(row []byte) error {
		if len(found) == limit {
			return operator.ErrStop
		}
		if cap(chunk)-len(chunk) < len(row) {
			chunk = make([]byte, 0, max(len(row), min(8<<10, 2*cap(chunk), limit*len(row))))
			if err := l.grow(cap(chunk)); err != nil {
				return err
			}
		}
		at := len(chunk)
		chunk = append(chunk, row...)
		found = append(found, chunk[at:len(chunk):len(chunk)])
		return nil
	})
	if err == operator.ErrStop {
		return nil, false, nil
	}
	return found, err == nil, err
}

func (l *Lists) grow(n int) error {
	n += n / 2 // the slices of keys
	l.grown += int64(n)
	return l.Memory.Grow(int64(n))
}

// all finds the rows that several searches find. It is sufficient that one of these has no more than
// limit rows.
func (l *Lists) all(args []gin.Search, limit int) (found rows, ok bool, err error) {
	longer := make([]int, len(args)) // than so many entries
	for n := min(firstRead, limit); ; n = min(n*moreReads, limit) {
		for i := range args {
			if found, ok, err = l.find(&args[i], n); err != nil {
				return nil, false, err
			}
			if longer[i] = n; ok {
				longer[i] = limit // read
				return l.within(found, args, longer, limit)
			}
		}
		if n == limit {
			return nil, false, nil
		}
	}
}

// within returns the rows that other searches find too, as far as these have few rows.
func (l *Lists) within(found rows, args []gin.Search, longer []int, limit int) (rows, bool, error) {
	for i := range args {
		reads := min(limit, worthRead*len(found)+firstRead)
		if len(found) == 0 {
			break
		}
		if longer[i] >= reads {
			continue
		}
		list, ok, err := l.find(&args[i], reads)
		if err != nil {
			return nil, false, err
		}
		if ok {
			found = intersection(found, list)
		}
	}
	return found, true, nil
}

// byKey compares rows by their primary keys.
func byKey(a, b []byte) int { return bytes.Compare(a[table.KeyAt:], b[table.KeyAt:]) }

// intersection returns the rows that are in both lists. It overwrites a.
func intersection(a, b rows) rows {
	out := a[:0]
	for len(a) > 0 && len(b) > 0 {
		switch n := byKey(a[0], b[0]); {
		case n < 0:
			a = a[1:]
		case n > 0:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// union returns the rows that are in one of two lists.
func union(a, b rows) rows {
	if len(a) == 0 {
		return b
	}
	out := make(rows, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		n := byKey(a[0], b[0])
		if n <= 0 {
			out = append(out, a[0])
			a = a[1:]
		}
		if n >= 0 {
			if n > 0 {
				out = append(out, b[0])
			}
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}
