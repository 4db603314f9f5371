package advice

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Document is one row as a candidate policy sees it.
type Document struct {
	ID     string
	Own    shardmap.Bucket // the bucket of the id without the anchor or placement that was added
	Bucket shardmap.Bucket // the bucket where it lies now
	Values []shardmap.Value
	Bytes  int
}

// Judge collects the effects of a policy on documents. Use NewJudge.
type Judge struct {
	policy *shardmap.Policy
	rules  shardmap.Prefixes
	table  string
	now    *shardmap.Map

	counts    []uint32 // documents by bucket
	documents int64
	bytes     int64
	rejected  int64
	example   string // why the first document was rejected
	misplaced int64
	seen      []uint64 // linear counting of values, with a fixed hash
	trend     trend
}

const distinctBits = 1 << 20

// NewJudge returns a Judge of a policy for a table, with the prefix rules and the bucket map of its
// database.
func NewJudge(p *shardmap.Policy, rules shardmap.Prefixes, table string, now *shardmap.Map) *Judge {
	return &Judge{
		policy: p, rules: rules, table: table, now: now, counts: make([]uint32, rulesEnd(rules)),
		seen: make([]uint64, distinctBits/64),
	}
}

// rulesEnd returns the bucket above all buckets that documents are hashed to.
func rulesEnd(rules shardmap.Prefixes) uint32 {
	end := uint32(shardmap.BucketCount)
	for _, r := range rules {
		end = max(end, r.Hi)
	}
	return end
}

// Add counts a document.
func (j *Judge) Add(d Document) {
	j.documents++
	j.bytes += int64(d.Bytes)
	content, err := j.policy.ContentBucket(j.rules, j.table, d.Own, d.Values)
	if err != nil {
		if j.rejected++; j.rejected == 1 {
			j.example = reason(d.ID, err)
		}
		return
	}
	block := j.policy.Block(j.rules, content)
	place := uint32(block.Fold(d.Own))
	if j.policy.IsID() {
		place = uint32(d.Own)
	} else if !block.Contains(d.Bucket) {
		j.misplaced++
	}
	j.counts[place]++
	text := j.text(d)
	h := xxhash.Sum64String(text) % distinctBits
	j.seen[h/64] |= 1 << (h % 64)
	if n, ok := number(d.ID); ok {
		j.trend.add(n, text, block)
	}
}

func reason(id string, err error) string {
	why := pgerr.From(err).Detail
	if why == "" {
		why = pgerr.From(err).Message
	}
	return strconv.Quote(id) + ": " + why
}

// text returns a text that is equal for documents with the same policy values.
func (j *Judge) text(d Document) string {
	if j.policy.IsID() {
		return d.ID
	}
	if len(d.Values) == 1 {
		return d.Values[0].Text
	}
	texts := make([]string, len(d.Values))
	for i, v := range d.Values {
		texts[i] = v.Text
	}
	return strings.Join(texts, "\x00")
}

// number returns the number in an id that a server or an application counts up: the last digits
// before any "$".
func number(id string) (n int64, ok bool) {
	if at := strings.LastIndexByte(id, '$'); at > 0 {
		id = id[:at]
	}
	end := strings.LastIndexAny(id, "0123456789") + 1
	start := end
	for start > 0 && id[start-1] >= '0' && id[start-1] <= '9' {
		start--
	}
	n, err := strconv.ParseInt(id[start:end], 10, 64)
	return n, err == nil
}

// distinct returns an estimate of the number of distinct values.
func (j *Judge) distinct() int64 {
	set := 0
	for _, w := range j.seen {
		set += bits.OnesCount64(w)
	}
	if set == distinctBits {
		set-- // all bits are set: the estimate is unbounded
	}
	n := -distinctBits * math.Log(1-float64(set)/distinctBits)
	return min(int64(math.Round(n)), j.documents-j.rejected)
}

// Spread is the distribution of documents over buckets and fragments.
type Spread struct {
	Buckets int64           // with documents
	Largest shardmap.Bucket // the bucket with Most documents
	Most    int64
	Skew    float64 // documents of the fullest fragment, divided by the mean of all
}

func (j *Judge) spread() (s Spread) {
	of := map[shardmap.FragmentID]int64{}
	for _, r := range j.hashed() {
		for b := r.Lo; b < r.Hi; b++ {
			n := int64(j.counts[b])
			if n == 0 {
				continue
			}
			s.Buckets++
			of[r.Fragment] += n
			if n > s.Most {
				s.Largest, s.Most = shardmap.Bucket(b), n
			}
		}
	}
	if placed := j.documents - j.rejected; placed > 0 {
		most := int64(0)
		for _, n := range of {
			most = max(most, n)
		}
		s.Skew = float64(most) * float64(j.fragments()) / float64(placed)
	}
	return s
}

// hashed returns the ranges of the buckets that a policy can choose. The map may have others,
// segments of range tables, to which no document is hashed.
func (j *Judge) hashed() (out []shardmap.Range) {
	for _, r := range j.now.Ranges() {
		if r.Lo < shardmap.BucketCount || j.rules.Of(shardmap.Bucket(r.Lo)) != nil {
			out = append(out, r)
		}
	}
	return out
}

// fragments returns the number of fragments that documents can be in.
func (j *Judge) fragments() int {
	of := map[shardmap.FragmentID]bool{}
	for _, r := range j.hashed() {
		of[r.Fragment] = true
	}
	return len(of)
}

// trend finds out, from a sample, whether values rise with the numbers of ids, and whether
// consecutive documents go to the same block.
type trend struct {
	every int64
	count int64
	list  []point
}

type point struct {
	order int64
	text  string
	block shardmap.Interval
}

const trendPoints = 4096

// add samples documents at an interval that grows with their number.
func (t *trend) add(order int64, text string, block shardmap.Interval) {
	if t.every == 0 {
		t.every = 1
	}
	if t.count++; t.count%t.every != 0 {
		return
	}
	t.list = append(t.list, point{order, strings.Clone(text), block})
	if len(t.list) < trendPoints {
		return
	}
	n := 0
	for i := 1; i < len(t.list); i += 2 {
		t.list[n] = t.list[i]
		n++
	}
	t.list, t.every = t.list[:n], 2*t.every
}

const (
	trendLeast = 32   // points; fewer prove nothing
	trendRises = 0.98 // share of consecutive pairs in order
	trendHot   = 0.9  // share of consecutive pairs in the same block
)

// judge returns whether values rise, and whether new documents go to one block at a time that lies
// in one fragment of now; known is false if the sample is too small.
func (t *trend) judge(now *shardmap.Map) (rises, hot, known bool) {
	if len(t.list) < trendLeast {
		return false, false, false
	}
	slices.SortStableFunc(t.list, func(a, b point) int { return compare(a.order, b.order) })
	up, same, together, equal := 0, 0, 0, 0
	for i := 1; i < len(t.list); i++ {
		c := compareTexts(t.list[i-1].text, t.list[i].text)
		if c <= 0 {
			up++
		}
		if c == 0 {
			equal++
		}
		if t.list[i-1].block == t.list[i].block {
			if same++; oneFragment(now, t.list[i].block) {
				together++
			}
		}
	}
	n := float64(len(t.list) - 1)
	rises = float64(up)/n >= trendRises && equal < len(t.list)-1
	return rises, float64(together)/n >= trendHot && same < len(t.list)-1, true
}

// oneFragment reports whether a block lies in one fragment. A block of a large Range may span
// several, which then share new documents.
func oneFragment(m *shardmap.Map, block shardmap.Interval) bool {
	return len(m.Split(shardmap.NewBucketSet(block))) == 1
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareTexts orders numbers by value and other texts by bytes.
func compareTexts(a, b string) int {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA == nil && errB == nil && x != y {
		if x < y {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
