package protocol

// Writer is what a fragment's log has of a transaction that it has prepared. The zero value is a
// transaction that is not prepared there.
type Writer[T ~uint8 | ~uint64] struct {
	Prepared bool
	C        T    // the time of the attempt that is prepared
	Implicit bool // the transaction is committed once all its writers have prepared at C
}

// Outcome is how a decision ends.
type Outcome uint8

// Outcomes of a decision.
const (
	Unknown   Outcome = iota // nothing may be concluded
	Committed                // the transaction is committed, now or before
	Aborted                  // the attempt, and those before it, are aborted for ever
)

// Effect is what an entry does to the writes that its fragment has of a transaction.
type Effect uint8

// Effects of an entry.
const (
	Keep    Effect = iota // nothing
	Install               // they become visible at C
	Drop                  // they go
)

// Commit is the entry that commits the attempt at C, in the coordinator fragment. The first
// decision counts; decided reports whether the fragment knows of one. Unknown is the answer if
// the attempt is not prepared: the entry may repeat one of a transaction that is forgotten.
func (w Writer[T]) Commit(r Rules, decided bool, C T) (Outcome, Effect) {
	switch {
	case decided:
		return Committed, Keep
	case w.Prepared && w.C == C, !w.Prepared && !r.Have(Decide):
		return Committed, Install
	}
	return Unknown, Keep
}

// Abort is the entry that aborts the attempt at C, in the coordinator fragment. Its stamp is above
// C, so a late prepare at C is refused for ever. The proposer of a known abort knows that not all
// writers have prepared at C and that they never will, or that no client has got the answer of a
// commit. Any other abort counts only if there is nothing here that may be committed implicitly.
func (w Writer[T]) Abort(r Rules, decided bool, C T, known bool) (Outcome, Effect) {
	switch {
	case decided:
		return Committed, Keep
	case w.Prepared && w.Implicit && !known && r.Have(Asked):
		return Unknown, Keep
	case w.Prepared && w.C > C && known && r.Have(AbortLater):
		return Unknown, Keep
	}
	return Aborted, Drop
}

// Resolve is the entry that applies the coordinator fragment's decision in another writer. It is
// not ok if another attempt is prepared here: its outcome is another question.
func (w Writer[T]) Resolve(r Rules, committed bool, C T) (e Effect, ok bool) {
	switch {
	case committed && w.Prepared && w.C == C:
		return Install, true
	case committed, w.Prepared && w.C > C && r.Have(ResolveLater):
		return Keep, false
	}
	return Drop, true
}

// Has reports whether the attempt at C is prepared here. If an entry stamped above C asks, the
// answer no stays true.
func (w Writer[T]) Has(r Rules, C T) bool {
	return w.Prepared && (w.C == C || !r.Have(BarAttempt))
}

// MustAsk reports whether the coordinator fragment, which is to recover the attempt at C, has to
// ask the other writers whether they have prepared it (Has). If it need not, it proposes to abort.
// Otherwise it proposes to commit if all have prepared, and a known abort if one has not.
func (w Writer[T]) MustAsk(r Rules, C T) bool {
	return w.Prepared && w.Implicit && w.C == C && r.Have(Asked)
}
