package history

import "time"

// Level is the isolation level at which a transaction ran.
type Level byte

// The levels.
const (
	ReadCommitted Level = iota
	RepeatableRead
	Serializable
)

func (l Level) String() string {
	return [...]string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}[l]
}

// Outcome is what the client knows about a transaction's end.
type Outcome byte

// The outcomes.
const (
	Committed Outcome = iota // acknowledged
	Aborted                  // refused or rolled back
	Unknown                  // the answer was lost
)

// Op is one operation: a read of a key's list, or an append.
type Op struct {
	Key    string
	Append bool
	Value  int           // appended; positive, once per key
	List   []int         // read
	Start  time.Duration // when the statement was sent, since the beginning of the history
}

// Transaction is what one client did and saw. Of a failed transaction, only appends matter.
type Transaction struct {
	ID      int
	Level   Level
	Start   time.Duration // when the first statement was sent
	End     time.Duration // when the end was acknowledged
	Outcome Outcome
	Ops     []Op
}
