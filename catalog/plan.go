package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
	"google.golang.org/protobuf/proto"
)

// PlanJob is the kind of a job that is a plan of rebalancing. It is proposed; after it was applied,
// it is carried out step by step. Each move is a MoveJob with the number of the plan.
const PlanJob = "rebalance"

// StepKind is the kind of a step of a plan. Durable: never renumber.
type StepKind uint8

// Kinds of steps.
const (
	BucketsStep StepKind = 1
	LeaderStep  StepKind = 2
	SplitStep   StepKind = 3
	MergeStep   StepKind = 4
)

// Plan is the payload of a PlanJob.
type Plan struct {
	Epoch  uint64 // of the bucket map that it was made for
	Who    string // the author; after the plan was applied, the role that applied it
	Why    string
	Steps  []PlanStep
	Advice []PlanAdvice // problems that moves cannot solve
	Waits  string       // what the plan waits for; "" if it continues
}

// PlanStep is a step of a plan.
type PlanStep struct {
	Kind StepKind
	shardmap.Interval
	Source, Target uint32 // of buckets
	Fragment, Node uint32 // of a leader
	// Of a split or merge of segments: Count segments of Table, from First to Last.
	Table            OID
	First, Last      shardmap.Bucket
	Count            int
	Keys             string // at which a segment is split (SplitKeys)
	What             string // the segments, for messages
	Bytes, Documents int64
	Estimate         int64 // microseconds
	Reason           string
	Job              uint64 // the move that carries the step out; 0: none was started
	Done             bool
	LeftOut          string // why the step was refused for good; the step then counts as done
}

// PlanAdvice is advice about something.
type PlanAdvice struct{ Subject, Text string }

// Bytes returns the size of what the plan moves.
func (p *Plan) Bytes() (n int64) {
	for i := range p.Steps {
		n += p.Steps[i].Bytes
	}
	return n
}

// Done returns the number of steps that are done.
func (p *Plan) Done() (n int) {
	for i := range p.Steps {
		if p.Steps[i].Done {
			n++
		}
	}
	return n
}

func (p *Plan) check() error {
	for _, s := range p.Steps {
		switch {
		case s.Kind == BucketsStep && s.OneKind() && s.Source != 0 && s.Target != 0 && s.Source != s.Target:
		case s.Kind == LeaderStep && s.Fragment != 0 && s.Node != 0:
		case s.Kind == SplitStep && s.Table != 0 && s.Count == 1 && s.First == s.Last && len(s.SplitKeys()) > 0:
		case s.Kind == MergeStep && s.Table != 0 && s.Count > 1:
		default:
			return fmt.Errorf("a step of a plan is none: %+v", s)
		}
	}
	return nil
}

// NewPlanJob returns the job of a plan, as a proposal; micros is the current time.
func NewPlanJob(id uint64, database OID, p *Plan, micros int64) *Job {
	j := &Job{ID: id, Kind: PlanJob, State: JobProposed, Database: database, StartedMicros: micros}
	return j.WithPlan(p, micros)
}

// WithPlan returns a copy of the job with another payload; micros is the current time.
func (j *Job) WithPlan(p *Plan, micros int64) *Job {
	j = j.Clone()
	m := &pb.Plan{Epoch: p.Epoch, Who: p.Who, Why: p.Why, Waits: p.Waits}
	for _, s := range p.Steps {
		m.Steps = append(m.Steps, &pb.PlanStep{
			Kind: uint32(s.Kind), Lo: s.Lo, Hi: s.Hi, Source: s.Source, Target: s.Target, Fragment: s.Fragment,
			Node: s.Node, Bytes: s.Bytes,
			Documents: s.Documents, EstimateMicros: s.Estimate, Reason: s.Reason, Job: s.Job, Done: s.Done,
			Table: uint32(s.Table), First: uint32(s.First), Last: uint32(s.Last), Count: uint32(s.Count),
			Keys: s.SplitKeys(), What: s.What,
			LeftOut: s.LeftOut,
		})
	}
	for _, a := range p.Advice {
		m.Advice = append(m.Advice, &pb.PlanAdvice{Subject: a.Subject, Text: a.Text})
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		// The texts were checked to be UTF-8 when they were read.
		panic("catalog: a plan cannot be encoded: " + err.Error())
	}
	j.Payload, j.UpdatedMicros, j.Done, j.Total = data, micros, int64(p.Done()), int64(len(p.Steps))
	return j
}

// Plan returns the payload of a PlanJob, and an error for other jobs. The caller owns it.
func (j *Job) Plan() (*Plan, error) {
	if j.Kind != PlanJob {
		return nil, fmt.Errorf("job %d is no plan", j.ID)
	}
	var m pb.Plan
	if err := proto.Unmarshal(j.Payload, &m); err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	p := &Plan{Epoch: m.GetEpoch(), Who: m.GetWho(), Why: m.GetWhy(), Waits: m.GetWaits()}
	for _, s := range m.GetSteps() {
		if s.GetKind() > uint32(MergeStep) {
			return nil, errors.New("a step of a plan of a later release")
		}
		p.Steps = append(p.Steps, PlanStep{
			Kind: StepKind(s.GetKind()), Interval: shardmap.Interval{Lo: s.GetLo(), Hi: s.GetHi()},
			Source: s.GetSource(), Target: s.GetTarget(),
			Fragment: s.GetFragment(), Node: s.GetNode(), Bytes: s.GetBytes(), Documents: s.GetDocuments(),
			Estimate: s.GetEstimateMicros(),
			Reason:   s.GetReason(), Job: s.GetJob(), Done: s.GetDone(), Table: OID(s.GetTable()),
			First: shardmap.Bucket(s.GetFirst()), Last: shardmap.Bucket(s.GetLast()), Count: int(s.GetCount()),
			Keys: JoinKeys(s.GetKeys()), What: s.GetWhat(),
			LeftOut: s.GetLeftOut(),
		})
	}
	for _, a := range m.GetAdvice() {
		p.Advice = append(p.Advice, PlanAdvice{a.GetSubject(), a.GetText()})
	}
	return p, p.check()
}

// RunningPlan is a plan's job with its payload.
type RunningPlan struct {
	Job *Job
	*Plan
}

// Plans returns the plans of a database, of all databases for 0, by number.
func (v *View) Plans(database OID) []RunningPlan {
	var out []RunningPlan
	for j := range v.Jobs() {
		if j.Kind != PlanJob || database != 0 && j.Database != database {
			continue
		}
		if p, err := j.Plan(); err == nil { // it was checked when it was put
			out = append(out, RunningPlan{j, p})
		}
	}
	return out
}

// PlanOf returns the plan with a job number.
func (v *View) PlanOf(id uint64) (RunningPlan, bool) {
	j := v.Job(id)
	if j == nil {
		return RunningPlan{}, false
	}
	p, err := j.Plan()
	return RunningPlan{j, p}, err == nil
}
