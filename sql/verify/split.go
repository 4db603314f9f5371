package verify

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// Split compares the parts of a table's split documents with the documents, both read at one
// timestamp. A document has all of its parts, and each part knows the counters in the document's
// own row; or it has no parts, because it was deleted with them and perhaps inserted again.
type Split struct {
	def *catalog.Table
	// parts that are not checked yet, by key: the number of the document, and the counters that the
	// part knows
	parts     map[int64][]types.Datum
	faults    []string
	documents int // with parts
	looked    int // parts checked
	again     int // documents without parts
	unread    int // parts that may lie where the check has not read
}

// NewSplit returns the proof for a table, given its parts. It keeps parts.
func NewSplit(def *catalog.Table, parts map[int64][]types.Datum) *Split {
	return &Split{def: def, parts: parts, looked: len(parts)}
}

func (s *Split) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// Document checks the parts of a document. own are the counters in its row, nil if it was not
// found; gone is set if it does not exist. missing reports whether a part that was not found does
// not exist.
func (s *Split) Document(d *catalog.HotDocument, own []types.Datum, gone bool, missing func(part int64) bool) {
	found, unread := 0, 0
	for _, k := range d.Parts {
		if s.parts[k] != nil {
			found++
		} else if !missing(k) {
			unread++
		}
	}
	s.unread += unread
	switch {
	case found > 0:
		s.documents++
	case unread == 0:
		s.again++
	}
	for _, k := range d.Parts {
		part := s.parts[k]
		delete(s.parts, k)
		switch {
		case part == nil && found > 0 && !gone && missing(k):
			s.fault("document %s lacks its part %d", d.ID, k)
		case part == nil:
		case gone:
			s.fault("document %s does not exist, but its part %d does", d.ID, k)
		case part[0].N != int64(d.Number):
			s.fault("part %d of document %s says that it is of another one", k, d.ID)
		case own != nil:
			s.bases(d, k, part[1:], own)
		}
	}
}

// bases compares the counters that a part knows with those of the document's own row. A part does
// not know counters that cannot be added to.
func (s *Split) bases(d *catalog.HotDocument, k int64, part, own []types.Datum) {
	for i := range part {
		if part[i].IsNull() {
			continue
		}
		off, err := types.NumericSub(part[i], own[i])
		if own[i].IsNull() || err != nil || types.NumericSign(off) != 0 {
			s.fault("part %d of document %s does not know what the document says of %s", k, d.ID,
				s.def.Hot.Counters[i].Name(s.def))
		}
	}
}

// End returns the faults after all documents have been checked. A part that is left has no
// document; that is a fault if settled is set, which means that the definitions are of the same
// time as the parts.
func (s *Split) End(settled bool) []string {
	for k := range s.parts {
		if settled {
			s.fault("part %d is of no split document", k)
		}
	}
	slices.Sort(s.faults)
	return s.faults
}

// Said returns what was proved if there are no faults.
func (s *Split) Said() string {
	out := fmt.Sprintf("%d documents, %d parts", s.documents, s.looked)
	if s.again > 0 {
		out += fmt.Sprintf("; %d without parts, which were deleted or made whole since", s.again)
	}
	if s.unread > 0 {
		out += fmt.Sprintf("; %d parts are not here, and were not checked", s.unread)
	}
	if n := len(s.parts); n > 0 {
		out += fmt.Sprintf("; %d parts are of documents that are not known here to be split", n)
	}
	return out
}
