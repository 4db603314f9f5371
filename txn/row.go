package txn

// RowError is the error of one of the rows that an INSERT or COPY sends to the fragments. Place
// counts rows from 0.
type RowError struct {
	Place int64
	Err   error
}

func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the row.
func (e *RowError) Unwrap() error { return e.Err }
