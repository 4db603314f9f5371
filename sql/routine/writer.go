package routine

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// writer takes what a statement that is not a query returns.
type writer struct {
	stmt.ResultWriter // nil: what functions cannot run is refused before
	emit              func(row []types.Datum) error
	env               *Environment
	tag               string
}

// Describe implements stmt.ResultWriter.
func (*writer) Describe([]stmt.Column) error { return nil }

// Row implements stmt.ResultWriter.
func (w *writer) Row(row []types.Datum) error { return w.emit(row) }

// Complete implements stmt.ResultWriter.
func (w *writer) Complete(tag string) error {
	w.tag = tag
	return nil
}

// Notice implements stmt.ResultWriter.
func (w *writer) Notice(n *pgerr.Error) error { return w.env.Notice(n) }

// Parameter implements stmt.ResultWriter.
func (w *writer) Parameter(name, value string) error { return w.env.Report(name, value) }

// EmptyQuery implements stmt.ResultWriter.
func (*writer) EmptyQuery() error { return nil }

// affected returns the number of rows in the tag.
func (w *writer) affected() int64 {
	i := strings.LastIndexByte(w.tag, ' ')
	n, err := strconv.ParseInt(w.tag[i+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
