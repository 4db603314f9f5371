package protocol

import "github.com/sherddb/sherd/txn/rule"

// Rules is a set of conditions that apply.
type Rules uint16

// The rules. Those of package rule have its comments.
const (
	Decide       Rules = 1 << iota // T7Decide
	Asked                          // T7Implicit
	AbortLater                     // T7Attempt, where the coordinator fragment decides
	ResolveLater                   // T7Attempt, where another writer resolves
	First                          // T7First
	Forget                         // T7Forget
	// CoordinatorFragmentDecides: a coordinator that wants to abort takes the coordinator
	// fragment's word that it has committed.
	CoordinatorFragmentDecides
	// LostIsUnknown: a prepare without an answer may be in the log.
	LostIsUnknown
	// LateIsUnknown: a writer that is not prepared, when it is asked after its answer was lost, may have
	// resolved a commit.
	LateIsUnknown
	// BarAttempt: a writer that has prepared another attempt is not prepared.
	BarAttempt

	// All is every rule.
	All Rules = 1<<iota - 1
)

// Build is the rules of this build: all, if it is not broken on purpose.
var Build = All.without(map[Rules]bool{
	Decide: rule.T7Decide, Asked: rule.T7Implicit, AbortLater: rule.T7Attempt, ResolveLater: rule.T7Attempt,
	First: rule.T7First, Forget: rule.T7Forget,
})

// Have reports whether rule x applies.
func (r Rules) Have(x Rules) bool { return r&x != 0 }

func (r Rules) without(applies map[Rules]bool) Rules {
	for x, yes := range applies {
		if !yes {
			r &^= x
		}
	}
	return r
}
