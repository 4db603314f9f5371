package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
	"google.golang.org/protobuf/proto"
)

// MoveJob is the kind of a job that moves buckets into a fragment. The bucket map shows what is
// left to move: the buckets of the interval that the target does not own.
const MoveJob = "move"

// StepPhase is the state of a step of a move. Durable: never renumber.
type StepPhase uint8

// Phases of steps.
const (
	StepNone    StepPhase = 0 // no step was started, or the last one is finished and forgotten
	StepRunning StepPhase = 1 // the step may flip
	// The step never flips; if the source has a fence, it has to be lifted.
	StepAborted StepPhase = 2
	StepFlipped StepPhase = 3 // the bucket map has changed; the fragments have to be notified
	StepDone    StepPhase = 4
)

// String returns the name of the phase for messages.
func (p StepPhase) String() string {
	return [...]string{"", "running", "aborted", "flipped", "done"}[p]
}

// MoveStep is a part of a move. The fragments know it by its number and treat it as a move of its
// own.
type MoveStep struct {
	Number uint64 // from the sequence of job numbers, never reused; 0: no step was started
	shardmap.Interval
	Source uint32
	Phase  StepPhase
	// Of a step that has flipped: the timestamp of the source's fence, and the smallest timestamp
	// at which the target may be read.
	F, Since uint64
	// Receipt is the number under which the target ingests. After a fence was lifted it is the
	// number of the step that this one continues; 0: Number.
	Receipt uint64
}

// Receives returns the number by which the target ingests.
func (s MoveStep) IngestNumber() uint64 {
	if s.Receipt != 0 {
		return s.Receipt
	}
	return s.Number
}

// Open reports whether something about the step remains to be done.
func (s MoveStep) Open() bool { return s.Phase >= StepRunning && s.Phase <= StepFlipped }

// Move is the payload of a MoveJob.
type Move struct {
	shardmap.Interval
	Source uint32 // 0: the present owners
	Target uint32
	Who    string // the role
	Why    string
	Plan   uint64 // the plan that the move is part of; 0: none
	Pin    bool   // the buckets are pinned when all of them are there
	// Anchors, together with Pin, lists the anchors to pin the buckets for.
	Anchors []string
	// Resegment, of a ResegmentJob, describes the split or merge of segments of a range table.
	// Interval then spans their buckets.
	Resegment *Resegment
	// Segments lists the first segments of range tables among the buckets; MoreSegments is the
	// number of further ones. If there are none, the buckets are hashed.
	Segments     []MovedSegment
	MoreSegments uint32
	Step         MoveStep

	// Counters, of all steps together.
	Steps            int64 // that have flipped
	Bytes, Documents int64
	Blocked, Worst   int64 // microseconds for which writes waited: in all, and the longest wait
	Retries          int64
	Rate             int64  // bytes per second, lately
	Waits            string // what the move waits for; "" if it continues
}

func encodeMove(m *Move) *pb.Move {
	p := &pb.Move{
		Lo: m.Lo, Hi: m.Hi, Source: m.Source, Target: m.Target, Who: m.Who, Why: m.Why, Plan: m.Plan, Steps: m.Steps,
		Bytes:     m.Bytes,
		Documents: m.Documents, BlockedMicros: m.Blocked, WorstMicros: m.Worst, Retries: m.Retries, Rate: m.Rate,
		Waits: m.Waits, Pin: m.Pin,
		Anchors: m.Anchors, Resegment: encodeResegment(m.Resegment), Segments: encodeMovedSegments(m.Segments),
		MoreSegments: m.MoreSegments,
	}
	if s := m.Step; s.Number != 0 {
		p.Step = &pb.MoveStep{Number: s.Number, Lo: s.Lo, Hi: s.Hi, Source: s.Source, Phase: uint32(s.Phase), F: s.F,
			Since: s.Since, Receipt: s.Receipt}
	}
	return p
}

func decodeMove(p *pb.Move) (*Move, error) {
	m := &Move{
		Interval: shardmap.Interval{Lo: p.GetLo(), Hi: p.GetHi()}, Source: p.GetSource(), Target: p.GetTarget(),
		Who: p.GetWho(), Why: p.GetWhy(),
		Plan: p.GetPlan(), Steps: p.GetSteps(), Bytes: p.GetBytes(), Documents: p.GetDocuments(),
		Blocked: p.GetBlockedMicros(),
		Worst:   p.GetWorstMicros(), Retries: p.GetRetries(), Rate: p.GetRate(), Waits: p.GetWaits(), Pin: p.GetPin(),
		Anchors: p.GetAnchors(), Resegment: decodeResegment(p.GetResegment()),
		Segments: decodeMovedSegments(p.GetSegments()), MoreSegments: p.GetMoreSegments(),
	}
	if s := p.GetStep(); s != nil {
		if s.GetPhase() > uint32(StepDone) {
			return nil, fmt.Errorf("step of a move in phase %d", s.GetPhase())
		}
		m.Step = MoveStep{s.GetNumber(), shardmap.Interval{Lo: s.GetLo(), Hi: s.GetHi()}, s.GetSource(),
			StepPhase(s.GetPhase()), s.GetF(), s.GetSince(), s.GetReceipt()}
	}
	return m, m.check()
}

func (m *Move) check() error {
	s := m.Step
	switch {
	case !m.OneKind() || m.Target == 0:
		return errors.New("a move needs buckets and a fragment that takes them")
	case (s.Number == 0) != (s.Phase == StepNone):
		return errors.New("a step of a move needs a number and a phase")
	case s.Receipt >= s.Number && s.Receipt != 0:
		return errors.New("a step of a move goes on with a later one")
	case s.Number != 0 && (s.Empty() || s.Lo < m.Lo || s.Hi > m.Hi || s.Source == 0 || s.Source == m.Target &&
		m.Resegment == nil):
		return errors.New("a step of a move is not within it")
	case m.Resegment != nil:
		return m.Resegment.check()
	}
	return nil
}

// NewMoveJob returns the job of a move; micros is the current time.
func NewMoveJob(id uint64, database OID, m *Move, micros int64) *Job {
	j := &Job{ID: id, Kind: MoveJob, State: JobRunning, Database: database, StartedMicros: micros}
	if m.Resegment != nil {
		j.Kind = ResegmentJob
	}
	return j.WithMove(m, micros)
}

// moves reports whether a job is driven as a move.
func (j *Job) moves() bool { return j.Kind == MoveJob || j.Kind == ResegmentJob }

// Move returns the payload of a MoveJob or a ResegmentJob, and an error for other jobs. The caller
// owns it.
func (j *Job) Move() (*Move, error) {
	if !j.moves() {
		return nil, fmt.Errorf("job %d is no move", j.ID)
	}
	var p pb.Move
	if err := proto.Unmarshal(j.Payload, &p); err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	m, err := decodeMove(&p)
	if err == nil && (m.Resegment != nil) != (j.Kind == ResegmentJob) {
		err = fmt.Errorf("job %d: segments are for jobs of kind %s", j.ID, ResegmentJob)
	}
	return m, err
}

// WithMove returns the job with another payload; micros is the time now.
func (j *Job) WithMove(m *Move, micros int64) *Job {
	j = j.Clone()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(encodeMove(m))
	if err != nil {
		// The texts were checked to be UTF-8 when they were read.
		panic("catalog: a move cannot be encoded: " + err.Error())
	}
	j.Payload, j.UpdatedMicros, j.Done, j.Total = data, micros, m.Documents, 0
	return j
}

// RunningMove is a move's job with its payload.
type RunningMove struct {
	Job *Job
	*Move
}

// Moves returns the moves of a database, of all databases for 0, by number.
func (v *View) Moves(database OID) []RunningMove {
	var out []RunningMove
	for j := range v.Jobs() {
		if !j.moves() || database != 0 && j.Database != database {
			continue
		}
		if m, err := j.Move(); err == nil { // it was checked when it was put
			out = append(out, RunningMove{j, m})
		}
	}
	return out
}

// MoveOf returns the move with a job number.
func (v *View) MoveOf(job uint64) (RunningMove, bool) {
	j := v.Job(job)
	if j == nil {
		return RunningMove{}, false
	}
	m, err := j.Move()
	return RunningMove{j, m}, err == nil
}

// Remaining returns the buckets that a move still has to bring to its target.
func (d *Database) Remaining(m *Move) []shardmap.Range {
	if m.Resegment != nil {
		return m.Resegment.remaining(d.Map)
	}
	var out []shardmap.Range
	for _, r := range d.Map.Ranges() {
		r.Interval = r.Intersect(m.Interval)
		if !r.Empty() && r.Fragment != m.Target && (m.Source == 0 || m.Source == r.Fragment) {
			out = append(out, r)
		}
	}
	return out
}

// Pinned returns the first pin that keeps buckets of the interval out of a fragment.
func (d *Database) Pinned(v shardmap.Interval, out uint32) (Pin, bool) {
	for _, p := range d.Pins {
		if !p.Intersect(v).Empty() && p.Fragment != out {
			return p, true
		}
	}
	return Pin{}, false
}
