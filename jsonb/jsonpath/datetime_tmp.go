package jsonpath

import "github.com/sherddb/sherd/internal/pgerr"

func (d *datetime) String() string { return "" }

func (e *evaluation) datetime(n *node, it item, out *list) result {
	return e.abort(pgerr.Unsupported("jsonpath item method .datetime() is not implemented"))
}

func (e *evaluation) compareTimes(a, b *datetime) (int, bool) { return 0, false }
