package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// WindowFunc computes a window function for the current row of a partition. The caller processes a
// partition's rows in order and uses one WindowRow for all of them.
type WindowFunc func(c *Ctx, w *WindowRow) (types.Datum, error)

// WindowRow is a window function's view of its partition. Positions count from 0 in the partition's
// order.
type WindowRow struct {
	Pos, Rows            int // current row, and rows of the partition
	PeerStart, PeerEnd   int // half-open range of the current row's peers
	FrameStart, FrameEnd int // half-open range of the frame, before exclusion
	// Excluded reports whether EXCLUDE removes a row from the frame; nil removes none.
	Excluded func(row int) bool
	// Arg evaluates argument i for a row of the partition.
	Arg   func(row, i int) (types.Datum, error)
	NArgs int
	// State belongs to the function during one partition; the caller resets it to zero at the start
	// of each.
	State int64
}

var windowFuncs = map[string]WindowFunc{
	"window_row_number":                   windowRowNumber,
	"window_rank":                         windowRank,
	"window_dense_rank":                   windowDenseRank,
	"window_percent_rank":                 windowPercentRank,
	"window_cume_dist":                    windowCumeDist,
	"window_ntile":                        windowNtile,
	"window_lag":                          windowLag,
	"window_lag_with_offset":              windowLag,
	"window_lag_with_offset_and_default":  windowLag,
	"window_lead":                         windowLead,
	"window_lead_with_offset":             windowLead,
	"window_lead_with_offset_and_default": windowLead,
	"window_first_value":                  windowFirstValue,
	"window_last_value":                   windowLastValue,
	"window_nth_value":                    windowNthValue,
}

func windowRowNumber(_ *Ctx, w *WindowRow) (types.Datum, error) {
	return types.NewInt(int64(w.Pos) + 1), nil
}

func windowRank(_ *Ctx, w *WindowRow) (types.Datum, error) {
	return types.NewInt(int64(w.PeerStart) + 1), nil
}

func windowDenseRank(_ *Ctx, w *WindowRow) (types.Datum, error) {
	if w.Pos == w.PeerStart {
		w.State++
	}
	return types.NewInt(w.State), nil
}

func windowPercentRank(_ *Ctx, w *WindowRow) (types.Datum, error) {
	if w.Rows <= 1 {
		return types.NewFloat8(0), nil
	}
	return types.NewFloat8(float64(w.PeerStart) / float64(w.Rows-1)), nil
}

func windowCumeDist(_ *Ctx, w *WindowRow) (types.Datum, error) {
	return types.NewFloat8(float64(w.PeerEnd) / float64(w.Rows)), nil
}

// windowNtile takes the number of buckets from the partition's first row, as PostgreSQL does.
func windowNtile(_ *Ctx, w *WindowRow) (types.Datum, error) {
	arg, err := w.Arg(0, 0)
	if err != nil || arg.IsNull() {
		return types.Null, err
	}
	n := int(arg.Int())
	if n <= 0 {
		return types.Null, pgerr.New("22014", "argument of ntile must be greater than zero")
	}
	small, rest := w.Rows/n, w.Rows%n
	if edge := rest * (small + 1); w.Pos >= edge {
		return types.NewInt(int64(rest + (w.Pos-edge)/small + 1)), nil
	}
	return types.NewInt(int64(w.Pos/(small+1) + 1)), nil
}

func windowLag(_ *Ctx, w *WindowRow) (types.Datum, error)  { return windowShift(w, -1) }
func windowLead(_ *Ctx, w *WindowRow) (types.Datum, error) { return windowShift(w, 1) }

func windowShift(w *WindowRow, sign int64) (types.Datum, error) {
	offset := int64(1)
	if w.NArgs > 1 {
		d, err := w.Arg(w.Pos, 1)
		if err != nil || d.IsNull() {
			return types.Null, err
		}
		offset = d.Int()
	}
	at := int64(w.Pos) + sign*offset
	if at >= 0 && at < int64(w.Rows) {
		return w.Arg(int(at), 0)
	}
	if w.NArgs > 2 {
		return w.Arg(w.Pos, 2)
	}
	return types.Null, nil
}

func windowFirstValue(_ *Ctx, w *WindowRow) (types.Datum, error) { return w.frameValue(1) }

func windowLastValue(_ *Ctx, w *WindowRow) (types.Datum, error) {
	for row := w.FrameEnd - 1; row >= w.FrameStart; row-- {
		if w.Excluded == nil || !w.Excluded(row) {
			return w.Arg(row, 0)
		}
	}
	return types.Null, nil
}

func windowNthValue(_ *Ctx, w *WindowRow) (types.Datum, error) {
	d, err := w.Arg(w.Pos, 1)
	if err != nil || d.IsNull() {
		return types.Null, err
	}
	if d.Int() <= 0 {
		return types.Null, pgerr.New("22016", "argument of nth_value must be greater than zero")
	}
	return w.frameValue(d.Int())
}

// frameValue returns argument 0 of the frame's n-th row, from 1.
func (w *WindowRow) frameValue(n int64) (types.Datum, error) {
	if w.Excluded == nil {
		if n > int64(w.FrameEnd-w.FrameStart) {
			return types.Null, nil
		}
		return w.Arg(w.FrameStart+int(n)-1, 0)
	}
	for row := w.FrameStart; row < w.FrameEnd; row++ {
		if w.Excluded(row) {
			continue
		}
		if n--; n == 0 {
			return w.Arg(row, 0)
		}
	}
	return types.Null, nil
}
