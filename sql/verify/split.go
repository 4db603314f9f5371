package verify

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// Split holds the parts of a table's split documents against the documents, by what was read of both at one timestamp. A document has all of its parts, each of
// which knows what the document's own row says of its counters, or it has none: it was deleted with them, and may have been made again.
type Split struct {
	def       *catalog.Table
	parts     map[int64][]types.Datum // that were found and not yet looked at, by their keys: the number of the document, and what the part knows of each counter
	faults    []string
	documents int // that have parts
	looked    int // parts
	again     int // documents that have none
	unread    int // parts that may lie where nobody has looked
}

// NewSplit makes the proof for a table, of which these parts were found. It keeps parts.
func NewSplit(def *catalog.Table, parts map[int64][]types.Datum) *Split {
	return &Split{def: def, parts: parts, looked: len(parts)}
}

func (s *Split) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// Document looks at the parts of a document. own is what its row says of the counters, nil where it was not found; gone: then there is none. missing tells
// whether there is no such part, which was not found.
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

// bases compares what a part knows of the counters with what the document's own row says. Of what is nothing to be added to it knows nothing.
func (s *Split) bases(d *catalog.HotDocument, k int64, part, own []types.Datum) {
	for i := range part {
		if part[i].IsNull() {
			continue
		}
		off, err := types.NumericSub(part[i], own[i])
		if own[i].IsNull() || err != nil || types.NumericSign(off) != 0 {
			s.fault("part %d of document %s does not know what the document says of %s", k, d.ID, s.def.Hot.Counters[i].Name(s.def))
		}
	}
}

// End gives what is wrong, once all documents have been looked at: a part that is left is of none, unless the definitions may be of another moment than the parts.
func (s *Split) End(settled bool) []string {
	for k := range s.parts {
		if settled {
			s.fault("part %d is of no split document", k)
		}
	}
	slices.Sort(s.faults)
	return s.faults
}

// Said is what was proved, where nothing is wrong.
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
