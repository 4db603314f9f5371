package advice

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/shardmap"
)

// Statements are the sampled statements on the table, planned under a policy.
type Statements struct {
	Looked int64 // number of statements
	One    int64 // those that one fragment would run
	Now    int64 // those that one fragment runs now
}

// Report is the evaluation of a policy.
type Report struct {
	Policy    *shardmap.Policy
	Documents int64
	Rejected  int64
	Example   string // the reason why a document is rejected
	Misplaced int64  // documents that now lie outside the buckets that the policy allows
	Distinct  int64
	Spread
	LargestBytes int64 // of the largest bucket, estimated by the mean size of documents
	Statements
	Rises   bool // with Ordered: values rise with the ids' numbers
	Ordered bool
	Advice  []string // problems, most important first; empty if there are none
}

const (
	obeseBytes  = 128 << 20 // of a bucket that is too large to move in one step
	fewBlocks   = 4         // too few to spread over fragments
	skewAllowed = 1.25
)

// Report returns the figures and the advice.
func (j *Judge) Report(s Statements) *Report {
	r := &Report{
		Policy: j.policy, Documents: j.documents, Rejected: j.rejected, Example: j.example, Misplaced: j.misplaced,
		Distinct: j.distinct(), Spread: j.spread(), Statements: s,
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

// judge derives the advice from the figures.
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
		r.say("bucket %d would have %d documents, about %d MiB%s", r.Largest, r.Most, r.LargestBytes>>20,
			r.wider(placed))
	} else if r.Skew > skewAllowed && placed >= 100*fragments {
		r.say("the fullest fragment would have %.2f times the mean%s", r.Skew, r.wider(placed))
	}
	if hot {
		r.say("what is new goes to one block of buckets at a time, so one fragment takes all inserts")
	}
	if !r.Policy.IsID() && placed >= 100 && r.Distinct > placed*9/10 {
		r.say("nearly every document has a value of its own: no documents would be brought together, so the id does " +
			"as well")
	}
	switch {
	case r.Looked == 0 || r.Policy.IsID() && r.Now == 0:
	case r.One == 0 && r.Now == 0:
		r.say("none of %d sampled statements would be answered by one fragment", r.Looked)
	case r.One < r.Now:
		r.say("fewer statements than now would be answered by one fragment: %d of %d, now %d", r.One, r.Looked, r.Now)
	}
	if len(r.Advice) == 0 && r.Misplaced > 0 {
		r.say("good for new documents, but %d lie elsewhere now: queries are routed by the policy only after these "+
			"have new ids", r.Misplaced)
	}
}

func values(n int64) string {
	if n == 1 {
		return "there is only one value"
	}
	return fmt.Sprintf("there are only %d values", n)
}

// wider suggests a Range, a power of ten times the present one, that spreads the largest block's
// documents well enough.
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

// Text returns the advice in one line.
func (r *Report) Text() string {
	switch {
	case r.Documents == 0:
		return "there are no documents to judge by"
	case len(r.Advice) == 0 && r.Looked > 0:
		return fmt.Sprintf("good: %d of %d sampled statements would be answered by one fragment, now %d", r.One,
			r.Looked, r.Now)
	case len(r.Advice) == 0:
		return "good, as far as documents tell: no statement was sampled yet"
	}
	return strings.Join(r.Advice, "; ")
}

// Better orders reports, the better policy first: by rejected documents, then by statements in one
// fragment, then by evenness.
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
