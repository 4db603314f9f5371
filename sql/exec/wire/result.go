package wire

import (
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/types"
)

// AppendResult appends the result of a task.
func AppendResult(dst []byte, res *exec.Result) []byte {
	dst = appendInt(dst, res.Affected)
	dst = appendInt(dst, res.Rows)
	dst = appendInt(dst, int64(res.Elapsed))
	dst = appendUint(dst, uint64(len(res.Keys)))
	for _, list := range res.Keys {
		dst = appendUint(dst, uint64(len(list)))
		for i := range list {
			dst = appendChange(dst, &list[i])
		}
	}
	return dst
}

func appendChange(dst []byte, c *keychange.Change) []byte {
	dst = appendText(dst, c.ID())
	for _, row := range []types.Row{c.Old, c.New} {
		if dst = appendBool(dst, row != nil); row != nil {
			dst = AppendValues(dst, row)
		}
	}
	return dst
}

// DecodeResult decodes the output of AppendResult. The keys are copies: they outlive the task.
func DecodeResult(b []byte) (exec.Result, error) {
	r := newReader(append([]byte(nil), b...), "the result of a task")
	res := exec.Result{Affected: r.int(), Rows: r.int(), Elapsed: time.Duration(r.int())}
	for range r.count() {
		var list []keychange.Change
		for range r.count() {
			id := r.text()
			list = append(list, keychange.New(r.row(), r.row(), id))
		}
		res.Keys = append(res.Keys, list)
	}
	if err := r.end(); err != nil {
		return exec.Result{}, err
	}
	return res, nil
}

// row reads values that may be absent.
func (r *reader) row() types.Row {
	if !r.bool() {
		return nil
	}
	if row := r.values(); row != nil {
		return row
	}
	return types.Row{}
}
