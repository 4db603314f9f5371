package sql

// lineNumbers remembers in which lines of COPY's data rows stood, for errors that fragments find later and know a row's number of. Mostly rows
// follow one another line by line, so it keeps only where that changes: after a header, and after values of several lines.
type lineNumbers struct {
	count int64 // rows so far
	jumps []lineJump
}

// lineJump says that rows from one on stand that many lines further down than their numbers.
type lineJump struct{ row, down int64 }

// note takes the line of the next row.
func (l *lineNumbers) note(line int64) {
	down := line - l.count
	if n := len(l.jumps); n == 0 || l.jumps[n-1].down != down {
		l.jumps = append(l.jumps, lineJump{l.count, down})
	}
	l.count++
}

// of gives the line of a row, counted from 0.
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
