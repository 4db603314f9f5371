package shardmap

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Rules for prefixes. A text that begins with the prefix of a rule is hashed to the assigned
// buckets of that rule; the longest prefix counts. Any other text is hashed as always (B1). The
// text to match is the text that is hashed, folded in the same way: the anchor of an id that has
// one, the whole of another id, the value of a policy's field, the key of a row. So documents with
// the same anchor or value share a bucket, under any rules (B7).

// Bounds of rules.
const (
	MaxPrefixes      = 256     // of a database
	MaxPrefixBytes   = 200     // of a prefix
	MaxPrefixBuckets = 1 << 16 // of a rule
)

// Prefix is a rule: texts that begin with Text, which is folded, are hashed to the buckets of the
// interval.
type Prefix struct {
	Text string
	Interval
}

// Prefixes are rules, sorted by their prefixes, without duplicates. They are never changed in
// place; nil means no rules.
type Prefixes []Prefix

// FoldPrefix checks a prefix and returns it in the folded form of rules. A prefix must end in "/",
// "-" or ":", so that it ends at the end of a part of an id, and must not have a "$".
func FoldPrefix(text string) (string, error) {
	refuse := func(detail, hint string) (string, error) {
		return "", pgerr.New(
			pgerr.InvalidParameterValue, "%s is no prefix for a rule", quoteID(text),
		).WithDetail("%s", detail).WithHint("%s", hint)
	}
	if err := checkText(text); err != nil {
		return "", err
	}
	switch {
	case text == "" || !strings.ContainsAny(text[len(text)-1:], "/-:"):
		return refuse(`It does not end in "/", "-" or ":".`, `End it where a part of an id ends, as in "eu/".`)
	case strings.Contains(text, "$"):
		return refuse(
			`What is matched is the text behind the last "$" of an id, which has none.`,
			`Leave out the "$" and what is before it.`,
		)
	case len(text) > MaxPrefixBytes:
		return refuse(
			fmt.Sprintf("It has %d bytes.", len(text)), fmt.Sprintf("Prefixes have at most %d bytes.", MaxPrefixBytes),
		)
	}
	return fold(text), nil
}

func fold(text string) string {
	if isLowerASCII(text) {
		return text
	}
	return string(appendLower(nil, text))
}

// anyAssigned matches no text, and has all assigned buckets.
var anyAssigned = Prefixes{{"\xff", Interval{BucketCount, BucketLimit}}}

// Check returns an error if the rules are invalid.
func (ps Prefixes) Check() error {
	for i, p := range ps {
		folded, err := FoldPrefix(p.Text)
		switch {
		case err != nil:
			return err
		case folded != p.Text:
			return fmt.Errorf("prefix %q is not folded", p.Text)
		case i > 0 && ps[i-1].Text >= p.Text:
			return fmt.Errorf("prefix %q is out of order", p.Text)
		case p.Lo < BucketCount || p.Hi > BucketLimit || p.Empty():
			return fmt.Errorf("buckets %v of prefix %q are not assigned ones", p.Interval, p.Text)
		}
		for _, q := range ps[:i] {
			if !q.Intersect(p.Interval).Empty() {
				return fmt.Errorf("prefixes %q and %q share buckets", q.Text, p.Text)
			}
		}
	}
	return nil
}

// Equal reports whether both are the same rules.
func (ps Prefixes) Equal(other Prefixes) bool { return slices.Equal(ps, other) }

// Find returns the rule of a prefix in its folded form.
func (ps Prefixes) Find(folded string) (Prefix, bool) {
	i, ok := slices.BinarySearchFunc(ps, folded, func(p Prefix, text string) int {
		return strings.Compare(p.Text, text)
	})
	if !ok {
		return Prefix{}, false
	}
	return ps[i], true
}

// With returns the rules together with one for a new prefix.
func (ps Prefixes) With(p Prefix) Prefixes {
	i := sort.Search(len(ps), func(i int) bool { return ps[i].Text >= p.Text })
	return slices.Insert(slices.Clone(ps), i, p)
}

// Without returns the rules except the one of a folded prefix; nil if none is left.
func (ps Prefixes) Without(folded string) Prefixes {
	out := slices.DeleteFunc(slices.Clone(ps), func(p Prefix) bool { return p.Text == folded })
	if len(out) == 0 {
		return nil
	}
	return out
}

// Match returns the rule that applies to a text, or nil if there is none.
func (ps Prefixes) Match(text string) *Prefix {
	if len(ps) == 0 {
		return nil
	}
	for text = fold(text); ; {
		i := sort.Search(len(ps), func(i int) bool { return ps[i].Text > text }) - 1
		if i < 0 {
			return nil
		}
		p := &ps[i]
		if strings.HasPrefix(text, p.Text) {
			return p
		}
		text = text[:common(text, p.Text)] // any other prefix of the text is one of what both begin with
	}
}

// Under returns the buckets of all texts that begin with this text; ok is false if they may be in
// any bucket.
func (ps Prefixes) Under(text string) (set BucketSet, ok bool) {
	p := ps.Match(text)
	if p == nil {
		return BucketSet{}, false
	}
	ivs := []Interval{p.Interval}
	text = fold(text)
	for i := range ps { // longer prefixes count before it
		if strings.HasPrefix(ps[i].Text, text) {
			ivs = append(ivs, ps[i].Interval)
		}
	}
	return NewBucketSet(ivs...), true
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// HashBucket returns the bucket of a whole text in which "$" means nothing, under the rules.
func (ps Prefixes) HashBucket(text string) Bucket {
	b := HashBucket(text)
	if p := ps.Match(text); p != nil {
		return p.place(b)
	}
	return b
}

// place returns the bucket of the rule for a text that is hashed to another bucket. The result is
// on disk and never changes, as B1.
func (p *Prefix) place(hashed Bucket) Bucket { return p.Fold(hashed) }

// Of returns the rule that has a bucket, or nil if none has.
func (ps Prefixes) Of(b Bucket) *Prefix {
	if b < BucketCount {
		return nil
	}
	for i := range ps {
		if ps[i].Contains(b) {
			return &ps[i]
		}
	}
	return nil
}

// Buckets returns the buckets in which rows of a hashed table may be: all buckets that keys are
// hashed to, and those of the rules.
func (ps Prefixes) Buckets() BucketSet {
	if len(ps) == 0 {
		return AllBuckets()
	}
	return NewBucketSet(append(ps.intervals(), WholeSpace())...)
}

// Within returns the buckets in which rows may be whose ids are hashed to an interval: the
// interval, and the buckets of all rules.
func (ps Prefixes) Within(v Interval) BucketSet {
	return NewBucketSet(append(ps.intervals(), v)...)
}

func (ps Prefixes) intervals() []Interval {
	out := make([]Interval, len(ps), len(ps)+1)
	for i := range ps {
		out[i] = ps[i].Interval
	}
	return out
}

// BucketOf returns the bucket of a document's id as the function BucketOf does, under the rules.
func (ps Prefixes) BucketOf(id string) (Bucket, error) {
	p, err := ps.ParseID(id)
	if err != nil {
		return 0, err
	}
	if p.Kind == PlacementID {
		return 0, noPlacement(id)
	}
	return p.Bucket, nil
}

// explain returns the text for errors about which buckets an id may name.
func (ps Prefixes) explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Buckets are numbered from 0 to %d", BucketCount-1)
	for i, p := range ps {
		if p.Lo == BucketCount && p.Hi == BucketLimit { // anyAssigned
			fmt.Fprintf(&b, ", those that rules for prefixes may have to %d", p.Hi-1)
			break
		}
		if i == 4 {
			b.WriteString(", and so on")
			break
		}
		fmt.Fprintf(&b, ", those of prefix %s from %d to %d", quoteID(p.Text), p.Lo, p.Hi-1)
	}
	b.WriteByte('.')
	return b.String()
}
