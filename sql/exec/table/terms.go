package table

import (
	"encoding/binary"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/types"
)

const termSize = 8

// terms computes the terms of rows in a GIN index.
type terms struct {
	columns []gin.Column
	list    []gin.Term // of a row
}

// newTerms returns nil for an index of another access method.
func newTerms(x *Index) (*terms, error) {
	if x.Def.Method != catalog.GIN {
		return nil, nil
	}
	t := &terms{columns: make([]gin.Column, len(x.Types))}
	for i, oid := range x.Types {
		c := gin.Column{At: i, Type: oid, Class: gin.ClassOf(oid, x.Def.ClassOf(i))}
		if c.Class == gin.None {
			return nil, pgerr.New(
				pgerr.InternalError, "index %q has a column of type %s", x.Def.Name, types.TypeName(oid),
			)
		}
		t.columns[i] = c
	}
	return t, nil
}

// termEntries is Entries for the values in vals.
func (x *Index) termEntries(rowKey []byte, dst []Entry, buf []byte) ([]Entry, []byte, error) {
	list, err := x.terms.list[:0], error(nil)
	for i := range x.terms.columns {
		if list, err = x.terms.columns[i].Append(list, x.vals[i]); err != nil {
			return dst, buf, err
		}
	}
	list = gin.Distinct(list)
	x.terms.list = list
	size := entryAt + termSize + len(rowKey) - KeyAt
	if size > maxEntryKey {
		return dst, buf, x.tooLong(size)
	}
	if need := len(list) * size; cap(buf)-len(buf) < need+len(rowKey) {
		buf = append(make([]byte, 0, len(buf)+need+len(rowKey)), buf...)
	}
	at := len(buf)
	buf = AppendEntryValue(buf, rowKey, false)
	value := buf[at:len(buf):len(buf)]
	for _, t := range list {
		at = len(buf)
		buf = append(x.AppendTerm(buf, t), rowKey[KeyAt:]...)
		dst = append(dst, Entry{
			Index: x, Bucket: BucketIn(rowKey), Key: buf[at:len(buf):len(buf)], Value: value,
		})
	}
	return dst, buf, nil
}

// AppendTerm appends what the keys of the entries with a term begin with.
func (x *Index) AppendTerm(dst []byte, t gin.Term) []byte {
	return binary.BigEndian.AppendUint64(x.AppendPrefix(dst), uint64(t))
}

// TermColumn returns what computes the terms of a key column of a GIN index.
func (x *Index) TermColumn(i int) *gin.Column { return &x.terms.columns[i] }
