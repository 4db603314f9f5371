package stmt

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// HoldingWriter holds back the command tag of a statement until its implicit transaction has committed. After Hold it
// also holds back what the statement returns, and its notices, and it keeps what COPY reads: so the statement can be
// run again while the client has seen nothing. It is for one statement.
type HoldingWriter struct {
	ResultWriter
	// Alone is set if the statement is all of its transaction. Only such a statement is run again.
	Alone   bool
	tempDir string
	seen    bool // the client has seen something of the statement
	holds   bool
	columns []Column // not described yet
	rows    HeldRows
	notices []*pgerr.Error
	copied  *heldCopy // nil: the statement is not a COPY FROM
	tags    []string
	room    [1]string // of tags
}

// maxNotices is how many notices are kept.
const maxNotices = 1000

// NewHoldingWriter makes one that passes on to w. Files that it needs are in tempDir.
func NewHoldingWriter(w ResultWriter, tempDir string, alone bool) *HoldingWriter {
	return &HoldingWriter{ResultWriter: w, Alone: alone, tempDir: tempDir}
}

// Hold keeps what the statement returns from now on, if the statement is all of its transaction.
func (w *HoldingWriter) Hold() {
	if w.Alone && !w.seen {
		w.holds = true
	}
}

// Once passes on what was kept. The statement is not run again: it has committed something.
func (w *HoldingWriter) Once() error {
	err := w.pass()
	w.seen, w.holds = true, false
	return err
}

// drop forgets what was kept, before the statement is run again.
func (w *HoldingWriter) drop() {
	w.tags, w.columns, w.notices = nil, nil, nil
	w.rows.Drop()
}

// repeatable reports whether the statement may be run again after an error.
func (w *HoldingWriter) repeatable() bool {
	return w.Alone && !w.seen && !w.rows.Passed && (w.copied == nil || !w.copied.passed)
}

// close ends what was kept. The client gets the notices of a statement that has failed.
func (w *HoldingWriter) close(err error) {
	if w.copied != nil {
		w.copied.close()
	}
	if err != nil {
		_ = w.passNotices() // the statement's own error counts
	}
}

func (w *HoldingWriter) passNotices() error {
	list := w.notices
	w.notices = nil
	for _, n := range list {
		w.seen = true
		if err := w.ResultWriter.Notice(n); err != nil {
			return err
		}
	}
	return nil
}

// describe passes on the columns that were kept.
func (w *HoldingWriter) describe() error {
	if w.columns == nil {
		return nil
	}
	columns := w.columns
	w.columns, w.seen = nil, true
	return w.ResultWriter.Describe(columns)
}

func (w *HoldingWriter) row(row []types.Datum) error {
	if err := w.describe(); err != nil {
		return err
	}
	w.seen = true
	return w.ResultWriter.Row(row)
}

// pass passes on what was kept.
func (w *HoldingWriter) pass() error {
	if !w.holds {
		return nil
	}
	if err := w.describe(); err != nil {
		return err
	}
	if err := w.rows.Pass(); err != nil {
		return err
	}
	return w.passNotices()
}

// Describe implements ResultWriter.
func (w *HoldingWriter) Describe(columns []Column) error {
	if w.holds {
		w.columns = columns
		return nil
	}
	w.seen = true
	return w.ResultWriter.Describe(columns)
}

// Row implements ResultWriter.
func (w *HoldingWriter) Row(row []types.Datum) error {
	if w.holds {
		if w.rows.Emit == nil {
			w.rows.Emit = w.row
		}
		return w.rows.Add(row)
	}
	w.seen = true
	return w.ResultWriter.Row(row)
}

// Notice implements ResultWriter. A client that has got a notice does not get it again.
func (w *HoldingWriter) Notice(n *pgerr.Error) error {
	if w.holds && len(w.notices) < maxNotices {
		w.notices = append(w.notices, n)
		return nil
	}
	return w.NoticeNow(n)
}

// NoticeNow passes a notice on while the statement runs, after all that was kept.
func (w *HoldingWriter) NoticeNow(n *pgerr.Error) error {
	if err := w.pass(); err != nil {
		return err
	}
	w.seen = true
	return w.ResultWriter.Notice(n)
}

// CopyIn implements ResultWriter. The client is asked once.
func (w *HoldingWriter) CopyIn(f CopyFormat) (CopyReader, error) {
	if w.copied != nil {
		w.copied.rewind()
		return w.copied, nil
	}
	in, err := w.ResultWriter.CopyIn(f)
	if err != nil || !w.Alone {
		return in, err
	}
	w.copied = &heldCopy{live: in, dir: w.tempDir}
	return w.copied, nil
}

// CopyOut implements ResultWriter.
func (w *HoldingWriter) CopyOut(f CopyFormat) error {
	w.seen = true
	return w.ResultWriter.CopyOut(f)
}

// Complete implements ResultWriter.
func (w *HoldingWriter) Complete(tag string) error {
	if w.tags == nil {
		w.tags = w.room[:0]
	}
	w.tags = append(w.tags, tag)
	return nil
}

// Send passes on what was held back, when the transaction has committed.
func (w *HoldingWriter) Send() error {
	if err := w.pass(); err != nil {
		return err
	}
	for _, tag := range w.tags {
		if err := w.ResultWriter.Complete(tag); err != nil {
			return err
		}
	}
	return nil
}
