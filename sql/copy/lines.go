package copy

// lineNumbers has the lines of the rows in COPY's data, for errors that fragments find later, with
// the number of a row. Most rows are in the line after the previous row, so it keeps only the
// exceptions: after a header, and after values of several lines.
type lineNumbers struct {
	count int64 // rows so far
	jumps []lineJump
}

// lineJump is a row, and by how much the lines of this row and the next ones are above their
// numbers.
type lineJump struct{ row, down int64 }

// note takes the line of the next row.
func (l *lineNumbers) note(line int64) {
	down := line - l.count
	if n := len(l.jumps); n == 0 || l.jumps[n-1].down != down {
		l.jumps = append(l.jumps, lineJump{l.count, down})
	}
	l.count++
}

// of returns the line of a row, counted from 0.
func (l *lineNumbers) of(row int64) int64 {
	down := int64(0)
	for _, j := range l.jumps {
		if j.row > row {
			break
		}
		down = j.down
	}
	return row + down
}
