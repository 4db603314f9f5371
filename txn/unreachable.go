package txn

// UnreachableError says that a fragment has no leader that answers, for as long as a statement waits for one. Nothing was
// done. Err is what clients see; it names the fragment.
type UnreachableError struct {
	Fragment FragmentID
	Err      error
}

func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap returns what a client would see.
func (e *UnreachableError) Unwrap() error { return e.Err }
