package advice

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/shardmap"
)

// Statements are the sampled statements that name the table, planned under a policy.
type Statements struct {
	Looked int64 // how many there are
	One    int64 // of these, would be answered by one fragment
	Now    int64 // of these, are now
}

// Report is what there is to say of a policy.
type Report struct {
	Policy    *shardmap.Policy
	Documents int64
	Rejected  int64
	Example   string // of a document that is rejected
	Misplaced int64  // documents that lie elsewhere now than the policy allows
	Distinct  int64
	Spread
	LargestBytes int64 // of the largest bucket, by the mean size of documents
	Statements
	Rises   bool // with Ordered: values rise with the ids' numbers
	Ordered bool
	Advice  []string // what is wrong, most important first; empty: nothing
}

const (
	obeseBytes  = 128 << 20 // of a bucket, which then is not moved in one step
	fewBlocks   = 4         // fragments can share no fewer
	skewAllowed = 1.25
)

// Report gives the figures and what follows from them.
func (j *Judge) Report(s Statements) *Report {
	r := &Report{
		Policy: j.policy, Documents: j.documents, Rejected: j.rejected, Example: j.example, Misplaced: j.misplaced, Distinct: j.distinct(),
		Spread: j.spread(), Statements: s,
	}
	if j.documents > 0 {
		r.LargestBytes = r.Most * (j.bytes / j.documents)
	}
	rises, hot, known := j.trend.judge(j.now)
	r.Rises, r.Ordered = rises, known
	r.judge(hot, int64(j.fragments()))
	return r
}

func (r *Report) say(format string, args ...any) {
	r.Advice = append(r.Advice, fmt.Sprintf(format, args...))
}

// judge puts the figures into words.
func (r *Report) judge(hot bool, fragments int64) {
	placed := r.Documents - r.Rejected
	if r.Rejected > 0 {
		r.say("%d of %d documents would be refused, as %s", r.Rejected, r.Documents, strings.TrimSuffix(r.Example, "."))
	}
	if placed == 0 {
		return
	}
	if !r.Policy.IsID() && r.Distinct < fewBlocks*fragments {
		r.say("%s: too few for %d fragments to share%s", values(r.Distinct), fragments, r.wider(placed))
	} else if r.LargestBytes > obeseBytes {
		r.say("bucket %d would have %d documents, about %d MiB%s", r.Largest, r.Most, r.LargestBytes>>20, r.wider(placed))
	} else if r.Skew > skewAllowed && placed >= 100*fragments {
		r.say("the fullest fragment would have %.2f times the mean%s", r.Skew, r.wider(placed))
	}
	if hot {
		r.say("what is new goes to one block of buckets at a time, so one fragment takes all inserts")
	}
	if !r.Policy.IsID() && placed >= 100 && r.Distinct > placed*9/10 {
		r.say("nearly every document has a value of its own: no documents would be brought together, so the id does as well")
	}
	switch {
	case r.Looked == 0 || r.Policy.IsID() && r.Now == 0:
	case r.One == 0 && r.Now == 0:
		r.say("none of %d sampled statements would be answered by one fragment", r.Looked)
	case r.One < r.Now:
		r.say("fewer statements than now would be answered by one fragment: %d of %d, now %d", r.One, r.Looked, r.Now)
	}
	if len(r.Advice) == 0 && r.Misplaced > 0 {
		r.say("good for new documents, but %d lie elsewhere now: queries can trust the policy only once these were placed anew", r.Misplaced)
	}
}

func values(n int64) string {
	if n == 1 {
		return "there is only one value"
	}
	return fmt.Sprintf("there are only %d values", n)
}

// wider suggests the Range, a power of ten times the present one, with which the largest block's documents would be spread well enough.
func (r *Report) wider(placed int64) string {
	if r.Policy.IsID() {
		return ""
	}
	for by := int64(10); ; by *= 10 {
		rng := int64(r.Policy.Range) * by
		if rng > shardmap.MaxRange/4 {
			return ""
		}
		if r.LargestBytes/by <= obeseBytes/2 && r.Most/by <= placed/100+1 {
			return fmt.Sprintf(" (Range %d would spread each value over %d buckets)", rng, rng)
		}
	}
}

// Text is the advice in a line.
func (r *Report) Text() string {
	switch {
	case r.Documents == 0:
		return "there are no documents to judge by"
	case len(r.Advice) == 0 && r.Looked > 0:
		return fmt.Sprintf("good: %d of %d sampled statements would be answered by one fragment, now %d", r.One, r.Looked, r.Now)
	case len(r.Advice) == 0:
		return "good, as far as documents tell: no statement was sampled yet"
	}
	return strings.Join(r.Advice, "; ")
}

// Better orders reports, the better policy first: what it would refuse counts most, then what it would keep in one fragment, then how evenly it spreads.
func Better(a, b *Report) int {
	switch x, y := a.worth(), b.worth(); {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return strings.Compare(a.Policy.ByString(), b.Policy.ByString())
}

func (r *Report) worth() float64 {
	if r.Documents == 0 {
		return 0
	}
	w := -4 * float64(r.Rejected) / float64(r.Documents)
	if r.Looked > 0 {
		w += 2 * float64(r.One) / float64(r.Looked)
	}
	if r.Skew > 0 {
		w += 1 / r.Skew
	}
	return w - float64(len(r.Advice))/8
}
