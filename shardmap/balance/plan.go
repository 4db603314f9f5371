package balance

import (
	"fmt"
	"math"

	"github.com/sherddb/sherd/shardmap"
)

// Kind says what a step does.
type Kind string

// Kinds of steps.
const (
	MoveBuckets Kind = "move buckets"
	MoveLeader  Kind = "move leader"
	// Of a range table.
	SplitSegment  Kind = "split segment"
	MergeSegments Kind = "merge segments"
)

// Step is a step of a plan.
type Step struct {
	Kind     Kind
	From, To shardmap.FragmentID // of MoveBuckets; in a split or merge, the fragment of the segments
	shardmap.Interval
	Fragment         shardmap.FragmentID // of MoveLeader
	Node             uint32              // of MoveLeader: the new leader
	Table            uint32              // whose Count segments from First to Last are split or merged
	First, Last      shardmap.Bucket
	Count            int
	ByWrites         bool // of SplitSegment: because of its writes, not its size
	Bytes, Documents int64
	Seconds          float64 // estimated
	Reason           string
}

// Advice names a problem that moves cannot solve.
type Advice struct {
	Subject, Text string
}

// Plan is a list of steps, in the order in which they should be done.
type Plan struct {
	Epoch  uint64 // of the bucket map that it is for
	Steps  []Step
	Advice []Advice
}

// Bytes returns how many bytes the plan moves.
func (p *Plan) Bytes() (n int64) {
	for _, s := range p.Steps {
		n += s.Bytes
	}
	return n
}

// pair names two fragments, in any order.
type pair struct{ a, b shardmap.FragmentID }

func pairOf(a, b shardmap.FragmentID) pair { return pair{min(a, b), max(a, b)} }

// Startable returns the numbers of the steps that may start now, given which are done and which are
// running: one for each pair of fragments (N8), and no more than most in all.
func (p *Plan) Startable(done, running func(i int) bool, most int) (out []int) {
	busy := map[pair]bool{}
	n := 0
	for i, s := range p.Steps {
		if running(i) {
			busy[pairOf(s.From, s.To)] = true
			n++
		}
	}
	for i, s := range p.Steps {
		if n >= most {
			break
		}
		if done(i) || running(i) || busy[pairOf(s.From, s.To)] {
			continue
		}
		if s.Kind != MoveLeader {
			busy[pairOf(s.From, s.To)] = true
		}
		out = append(out, i)
		n++
	}
	return out
}

// Decide makes a plan. It is empty if nothing has to be done; in mode off, unless fragments have to
// be filled or emptied.
func Decide(in Input) Plan {
	p := newPicture(in)
	if in.Mode == Off && !in.Fill && !p.drains() {
		return p.plan
	}
	p.obeyRules()
	p.drain()
	p.resegment()
	if in.Fill || p.begins() {
		p.even()
		if !p.byBuckets {
			p.evenLarge()
		}
	}
	p.spreadSegments()
	if in.Mode == Auto {
		p.cool()
	}
	p.adviseBig()
	p.plan.Steps = joined(p.plan.Steps)
	return p.plan
}

// move adds a step to the plan.
func (p *picture) move(r *run, to int, why string) {
	from := r.owner
	var bytes, docs, guessed int64
	var heat float64
	for _, c := range r.cells {
		bytes, docs, heat = bytes+c.Bytes, docs+c.Documents, heat+c.heat()
		if c.Guessed {
			guessed += c.Bytes
		}
	}
	if guessed > bytes/guessedShare {
		why += "; its bytes are an estimate: how they are spread over the buckets is not known yet"
	}
	size := r.size(p)
	p.frags[from].size, p.frags[to].size = p.frags[from].size-size, p.frags[to].size+size
	p.frags[from].bytes, p.frags[to].bytes = p.frags[from].bytes-bytes, p.frags[to].bytes+bytes
	p.frags[from].heat, p.frags[to].heat = p.frags[from].heat-heat, p.frags[to].heat+heat
	r.owner, r.arrived = to, true
	p.plan.Steps = append(p.plan.Steps, Step{
		Kind: MoveBuckets, From: p.frags[from].ID, To: p.frags[to].ID, Interval: r.Interval, Bytes: bytes,
		Documents: docs,
		Seconds:   p.seconds(bytes), Reason: why,
	})
}

// guessedShare is the part of a step's bytes above which the step says that they are an estimate: a
// tenth.
const guessedShare = 10

// fixedSeconds is how long even the smallest move takes.
const fixedSeconds = 0.2

func (p *picture) seconds(bytes int64) float64 {
	return fixedSeconds + float64(bytes)/float64(p.th.Rate)
}

// joined merges steps for neighbouring ranges that move in the same direction for the same reason.
func joined(steps []Step) []Step {
	out := steps[:0]
	for _, s := range steps {
		if n := len(out); n > 0 && s.Kind == MoveBuckets {
			l := &out[n-1]
			if l.Kind == s.Kind && l.From == s.From && l.To == s.To && l.Reason == s.Reason &&
				(l.Hi == s.Lo || s.Hi == l.Lo) {
				l.Lo, l.Hi = min(l.Lo, s.Lo), max(l.Hi, s.Hi)
				l.Bytes, l.Documents, l.Seconds =
					l.Bytes+s.Bytes, l.Documents+s.Documents, l.Seconds+s.Seconds-fixedSeconds
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// sized prints bytes for operators.
func sized(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	if n < mib && n > 0 {
		return fmt.Sprintf("%.0f KiB", math.Ceil(float64(n)/1024))
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/mib)
}
