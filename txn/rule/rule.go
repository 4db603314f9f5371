package rule

// Order and reads (T1 to T6).
const (
	// T1Order: an entry is rejected if its stamp is not above all stamps before it.
	T1Order = true
	// T2Read: a read at T raises the low-water timestamp to T before it is served, so that no later
	// commit is below it.
	T2Read = true
	// T2Floor: a commit is above every timestamp that its transaction has read at and its session
	// has seen.
	T2Floor = true
	// T3Proposed: a read at T waits for what is proposed at or below T.
	T3Proposed = true
	// T3Prepared: a read at T waits for what is prepared at or below T on its keys.
	T3Prepared = true
	// T3Installed: a read or a lock waits for the rows of a large commit that are not yet in the
	// database and lie at its keys.
	T3Installed = true
	// T4ReadLease: no read is above the replicated read lease, and a new leader starts there.
	T4ReadLease = true
	// T4Locks: a new leader starts with the locks of what is prepared.
	T4Locks = true
	// T5Confirm: a leader counts as such if a majority of the voters has accepted a request that
	// the leader sent after the question.
	T5Confirm = true
	// T6Prepared: the timestamp of a statement counts the C of prepared transactions.
	T6Prepared = true
)

// The commit over several fragments (T7).
const (
	// T7Decide: a decision to commit applies only if the coordinator fragment's prepared record is
	// there.
	T7Decide = true
	// T7Ask: a writer with an undecided transaction asks the coordinator fragment, and never
	// decides by time-out.
	T7Ask = true
	// T7Above: an abort is stamped above the C that it refuses for ever.
	T7Above = true
	// T7Forget: a commit is forgotten only after each of its writers has applied its resolution.
	T7Forget = true
	// T7Record: a coordinator fragment that has forgotten a commit looks for the record of its
	// decision before it answers that the transaction was aborted.
	T7Record = true
	// T7Implicit: a coordinator fragment asks every writer before it aborts a transaction that it
	// has prepared and that may have committed implicitly.
	T7Implicit = true
	// T7Bar: before a writer answers the coordinator fragment that it has not prepared at C, it
	// makes sure that it never will.
	T7Bar = true
	// T7Attempt: an abort ends the attempt that it names and those before it, not a later one.
	T7Attempt = true
	// T7First: the writers get a commit's resolution after the coordinator fragment has decided,
	// not before.
	T7First = true
)

// SERIALIZABLE and REPEATABLE READ (T8).
const (
	// T8Validate: what a SERIALIZABLE transaction has read is validated at C.
	T8Validate = true
	// T8Proposed: validation looks at what is proposed at or below C.
	T8Proposed = true
	// T8Prepared: validation looks at what is prepared at or below C.
	T8Prepared = true
	// T8ReadLease: a check at C extends the read lease to C and raises the low-water timestamp to
	// it.
	T8ReadLease = true
	// T8PreparedReads: no transaction writes where a transaction prepared by PREPARE TRANSACTION
	// has read.
	T8PreparedReads = true
	// FirstUpdater: at REPEATABLE READ a version above T of a locked row is 40001.
	FirstUpdater = true
)

// Reads at replicas that do not lead (T9).
const (
	// T9Closed: a replica that does not lead serves closed timestamps only.
	T9Closed = true
	// T9Applied: a timestamp that the leader has closed is closed at a replica when the replica has
	// applied what was proposed before.
	T9Applied = true
	// T9LowWater: a leader that closes a timestamp stamps nothing at or below it.
	T9LowWater = true
	// T9ReadLease: a leader closes no timestamp above the replicated read lease, so that the next
	// leader stamps nothing at or below it either.
	T9ReadLease = true
)

// Leaders and log entries.
const (
	// BufferTerm: buffered writes end with the term of the leader that holds them.
	BufferTerm = true
	// CommitOnce: a commit entry carries the transaction's id and applies once.
	CommitOnce = true
)

// Moves of buckets.
const (
	// MoveNumber: an entry of a move that is older than the last move of its ranges is void.
	MoveNumber = true
	// MoveGeneration: a bucket that comes back gets a new generation, which hides the rows of its
	// earlier one.
	MoveGeneration = true
	// MoveFence: a read above F at a fenced source waits, and nothing is committed there.
	MoveFence = true
	// MoveBuffer: a transaction commits what it has written, locked and read only if the fragment
	// still owns these buckets and they are not fenced.
	MoveBuffer = true
	// MoveProposed: a fence counts from its proposal on, not from its application.
	MoveProposed = true
	// MoveAbove: the target never writes at or below the low-water timestamp of the source.
	MoveAbove = true
	// MoveRead: the last read of a move counts only if its fence is in the log, with the F up to
	// which the move has read.
	MoveRead = true
	// MoveSeen: the target owns buckets before its log says so only if the last of their rows came
	// through this replica.
	MoveSeen = true
)
