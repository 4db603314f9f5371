package trust

import (
	"slices"
	"time"
)

// Phase is the state of an authority. Durable: never renumber.
type Phase byte

// The phases, in their order. Exactly one authority is signing.
const (
	Announced Phase = 1 // every node is to trust it
	Signing   Phase = 2
	Retiring  Phase = 3 // trusted still; what it signed is replaced
)

// Standing is an authority and its phase.
type Standing struct {
	Authority Fingerprint
	Phase     Phase
}

// Report is what a node reports about its certificate and roots.
type Report struct {
	Trusts []Fingerprint // its roots
	Issuer Fingerprint   // of its certificate
}

// StepKind is the kind of the next step in the replacement of an authority.
type StepKind byte

// The steps.
const (
	Rest    StepKind = iota // one authority, signing: nothing to do
	Wait                    // for the nodes of the step, or until its time
	Promote                 // the authority signs, the one that signed retires
	Drop                    // the authority is trusted no more
)

// Step is the result of NextStep.
type Step struct {
	Kind      StepKind
	Authority Fingerprint
	Nodes     []uint32  // to wait for
	Until     time.Time // tokens that name the authority hold until then
}

// NextStep returns the next step, chosen so that no node ever meets a certificate that it does not
// trust (TR4): an announced authority signs once all nodes have it among their roots; a retiring
// one is dropped when it has signed no node's current certificate and no join token names it.
// NextStep waits for nodes that do not report: the operator starts or removes them. tokens has the
// time until which tokens of an authority are valid.
func NextStep(
	standing []Standing, nodes []uint32, reports map[uint32]Report, tokens map[Fingerprint]time.Time, now time.Time,
) Step {
	for _, s := range standing {
		switch s.Phase {
		case Announced:
			late := missing(nodes, reports, func(r Report) bool { return slices.Contains(r.Trusts, s.Authority) })
			if len(late) > 0 {
				return Step{Kind: Wait, Authority: s.Authority, Nodes: late}
			}
			return Step{Kind: Promote, Authority: s.Authority}
		case Retiring:
			late := missing(nodes, reports, func(r Report) bool {
				return r.Issuer != s.Authority && r.Issuer != Fingerprint{}
			})
			if len(late) > 0 {
				return Step{Kind: Wait, Authority: s.Authority, Nodes: late}
			}
			if until := tokens[s.Authority]; now.Before(until) {
				return Step{Kind: Wait, Authority: s.Authority, Until: until}
			}
			return Step{Kind: Drop, Authority: s.Authority}
		}
	}
	return Step{Kind: Rest}
}

func missing(nodes []uint32, reports map[uint32]Report, done func(Report) bool) []uint32 {
	var out []uint32
	for _, n := range nodes {
		if r, ok := reports[n]; !ok || !done(r) {
			out = append(out, n)
		}
	}
	return out
}
