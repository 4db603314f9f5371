package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
	"google.golang.org/protobuf/proto"
)

// MoveJob is the kind of a job that moves buckets into a fragment. What is left to move is in the bucket map: whatever of the range the target does
// not own.
const MoveJob = "move"

// StepPhase says how far a step of a move is. Durable: never renumber.
type StepPhase uint8

// Phases of steps.
const (
	StepNone    StepPhase = 0 // none was begun, or the last is forgotten
	StepRunning StepPhase = 1 // it may flip
	StepAborted StepPhase = 2 // it never will; the source's fence, if there is one, is to be lifted
	StepFlipped StepPhase = 3 // the map says so; the fragments are to be told
	StepDone    StepPhase = 4
)

// String is the name for people.
func (p StepPhase) String() string {
	return [...]string{"", "running", "aborted", "flipped", "done"}[p]
}

// MoveStep is a part of a move: a move of its own to the fragments, by its number.
type MoveStep struct {
	Number uint64 // of those of jobs, never reused; 0: no step was begun
	shardmap.Interval
	Source uint32
	Phase  StepPhase
	// Of one that has flipped: the timestamp of the source's fence, and the smallest that may be read at, which the target is told.
	F, Since uint64
	// Receipt is the number by which the target receives: that of a step whose fence was lifted, and which this one goes on with; 0: Number.
	Receipt uint64
}

// Receives returns the number by which the target ingests.
func (s MoveStep) Receives() uint64 {
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
	Source uint32 // 0: whoever owns them
	Target uint32
	Who    string // the role
	Why    string
	Plan   uint64 // that it is part of; 0: of none
	Pin    bool   // the buckets are pinned when all of them are there
	// Anchors, with Pin, name what they are pinned for.
	Anchors []string
	// Resegment, of a ResegmentJob, says what becomes of the buckets, which are segments of a range table; Interval spans them then.
	Resegment *Resegment
	// Segments says which segments of range tables the buckets are, the first of them, and MoreSegments how many there are besides. None: they are hashed.
	Segments     []MovedSegment
	MoreSegments uint32
	Step         MoveStep

	// Counters, of all steps together.
	Steps            int64 // that have flipped
	Bytes, Documents int64
	Blocked, Worst   int64 // microseconds in which writes waited, and those of the longest wait
	Retries          int64
	Rate             int64  // bytes per second, lately
	Waits            string // for what; "" where it goes on
}

func encodeMove(m *Move) *pb.Move {
	p := &pb.Move{
		Lo: m.Lo, Hi: m.Hi, Source: m.Source, Target: m.Target, Who: m.Who, Why: m.Why, Plan: m.Plan, Steps: m.Steps, Bytes: m.Bytes,
		Documents: m.Documents, BlockedMicros: m.Blocked, WorstMicros: m.Worst, Retries: m.Retries, Rate: m.Rate, Waits: m.Waits, Pin: m.Pin,
		Anchors: m.Anchors, Resegment: encodeResegment(m.Resegment), Segments: encodeMovedSegments(m.Segments), MoreSegments: m.MoreSegments,
	}
	if s := m.Step; s.Number != 0 {
		p.Step = &pb.MoveStep{Number: s.Number, Lo: s.Lo, Hi: s.Hi, Source: s.Source, Phase: uint32(s.Phase), F: s.F, Since: s.Since, Receipt: s.Receipt}
	}
	return p
}

func decodeMove(p *pb.Move) (*Move, error) {
	m := &Move{
		Interval: shardmap.Interval{Lo: p.GetLo(), Hi: p.GetHi()}, Source: p.GetSource(), Target: p.GetTarget(), Who: p.GetWho(), Why: p.GetWhy(),
		Plan: p.GetPlan(), Steps: p.GetSteps(), Bytes: p.GetBytes(), Documents: p.GetDocuments(), Blocked: p.GetBlockedMicros(),
		Worst: p.GetWorstMicros(), Retries: p.GetRetries(), Rate: p.GetRate(), Waits: p.GetWaits(), Pin: p.GetPin(),
		Anchors: p.GetAnchors(), Resegment: decodeResegment(p.GetResegment()), Segments: decodeMovedSegments(p.GetSegments()), MoreSegments: p.GetMoreSegments(),
	}
	if s := p.GetStep(); s != nil {
		if s.GetPhase() > uint32(StepDone) {
			return nil, fmt.Errorf("step of a move in phase %d", s.GetPhase())
		}
		m.Step = MoveStep{s.GetNumber(), shardmap.Interval{Lo: s.GetLo(), Hi: s.GetHi()}, s.GetSource(), StepPhase(s.GetPhase()), s.GetF(), s.GetSince(), s.GetReceipt()}
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
	case s.Number != 0 && (s.Empty() || s.Lo < m.Lo || s.Hi > m.Hi || s.Source == 0 || s.Source == m.Target && m.Resegment == nil):
		return errors.New("a step of a move is not within it")
	case m.Resegment != nil:
		return m.Resegment.check()
	}
	return nil
}

// NewMoveJob makes the job of a move; micros is the time now.
func NewMoveJob(id uint64, database OID, m *Move, micros int64) *Job {
	j := &Job{ID: id, Kind: MoveJob, State: JobRunning, Database: database, StartedMicros: micros}
	if m.Resegment != nil {
		j.Kind = ResegmentJob
	}
	return j.WithMove(m, micros)
}

// moves reports whether a job is driven as a move.
func (j *Job) moves() bool { return j.Kind == MoveJob || j.Kind == ResegmentJob }

// Move returns the payload of a MoveJob or a ResegmentJob, an error for other jobs. The caller owns
// it.
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
		panic("catalog: a move cannot be encoded: " + err.Error()) // its texts are checked to be UTF-8 where they come in
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

// MoveOf looks a move up by its job's number.
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
