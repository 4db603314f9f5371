package query

// RowLock is a locking clause of a SELECT: FOR UPDATE and its weaker forms.
type RowLock struct {
	Strength LockStrength
	Wait     LockWait
	Rels     []int // tables among the range table entries
}

// LockStrength is how strong a row lock is, from the weakest; txn.LockMode has the same numbers.
type LockStrength uint8

// Strengths of row locks.
const (
	LockKeyShare LockStrength = iota + 1
	LockShare
	LockNoKeyUpdate
	LockUpdate
)

// String returns the clause.
func (s LockStrength) String() string {
	return [...]string{"no lock", "FOR KEY SHARE", "FOR SHARE", "FOR NO KEY UPDATE", "FOR UPDATE"}[s]
}

// LockWait says what becomes of a row that another transaction has locked. Of several clauses on
// one table the largest counts.
type LockWait uint8

// What locking clauses say of locked rows.
const (
	LockBlock LockWait = iota // wait for it
	LockSkip                  // SKIP LOCKED
	LockError                 // NOWAIT: 55P03
)
