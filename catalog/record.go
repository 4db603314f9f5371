package catalog

import (
	"errors"
	"iter"
	"time"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// Kinds of records.
const (
	MoveRecord     = "move"
	FragmentRecord = "fragment"
	RangeRecord    = "range"
	PinRecord      = "pin"
	PolicyRecord   = "policy"
	DatabaseRecord = "database"
	ReplicasRecord = "replicas"
	NodeRecord     = "node"
	SettingRecord  = "setting"
	PlanRecord     = "plan"
	PrefixRecord   = "prefix"
)

// Record is a change of policies, topology, placement, nodes or settings, kept for operators to
// read (sherd.changelog, sherd.move_history).
type Record struct {
	ID       uint64 // its time in microseconds since 1970, made unique
	Kind     string
	Database OID    // 0 if the record belongs to no database
	Subject  string // name of the object that was changed
	Change   string // the change, as text
	Who      string // the role; "sherd" for changes that the cluster makes by itself
	Why      string
	Plan     uint64     // the plan that the change was part of; 0: none
	Move     *EndedMove // of a MoveRecord, nil for all others
}

// EndedMove is what is kept of a move's job.
type EndedMove struct {
	Job           uint64
	Outcome       string // done, cancelled or failed
	StartedMicros int64
	Error         string
	Move
}

// At is when it was changed.
func (r *Record) At() time.Time { return time.UnixMicro(int64(r.ID)) }

func (r *Record) check() error {
	if r.ID == 0 || r.ID > maxObjectID || r.Kind == "" || (r.Move != nil) != (r.Kind == MoveRecord) {
		return errors.New("a record needs a number and a kind, and one of a move its move")
	}
	return nil
}

const (
	keepRecords   = 10_000
	keepRecordFor = 90 * 24 * time.Hour
	dropAtOnce    = 100 // how many records one change drops at most
	trimEvery     = 24 * time.Hour
)

// Record adds a record and assigns its number. It drops records that are too old or too many.
// micros is the current time.
func (c *Change) Record(r *Record, micros int64) error {
	n := *r
	for n.ID = uint64(max(micros, 1)); ; n.ID++ {
		key := newKey(recordObject, n.ID)
		_, taken := c.base.objects.Get(uint64(key))
		if _, here := c.at[key]; !taken && !here {
			break
		}
	}
	count, dropped, oldest := 0, 0, uint64(maxObjectID)
	for old := range c.base.Records() {
		count++
		oldest = min(oldest, old.ID)
	}
	// Do not trim at each change: two changes that drop the same record collide.
	if count < keepRecords+dropAtOnce && int64(oldest) > micros-keepRecordFor.Microseconds()-trimEvery.Microseconds() {
		return c.put(&n)
	}
	for old := range c.base.Records() {
		if dropped == dropAtOnce || count-dropped < keepRecords && int64(old.ID) > micros-keepRecordFor.Microseconds() {
			break
		}
		c.drop(recordObject, old.ID)
		dropped++
	}
	return c.put(&n)
}

// NoteNode records a change of a node.
func (c *Change) NoteNode(n *Node, change string, a Author) error {
	return c.Record(&Record{Kind: NodeRecord, Subject: n.Name, Change: change, Who: a.Who, Why: a.Why}, a.Micros)
}

// Records returns the records, oldest first.
func (v *View) Records() iter.Seq[*Record] { return all[*Record](v, recordObject) }

func encodeRecord(r *Record) *pb.Record {
	p := &pb.Record{
		Id: r.ID, Kind: r.Kind, Database: r.Database, Subject: r.Subject, Change: r.Change, Who: r.Who, Why: r.Why,
		Plan: r.Plan,
	}
	if e := r.Move; e != nil {
		p.Move = &pb.EndedMove{Job: e.Job, Outcome: e.Outcome, StartedMicros: e.StartedMicros, Error: e.Error,
			Move: encodeMove(&e.Move)}
	}
	return p
}

func decodeRecord(p *pb.Record) (*Record, error) {
	r := &Record{
		ID: p.GetId(), Kind: p.GetKind(), Database: p.GetDatabase(), Subject: p.GetSubject(), Change: p.GetChange(),
		Who: p.GetWho(), Why: p.GetWhy(),
		Plan: p.GetPlan(),
	}
	if e := p.GetMove(); e != nil {
		m, err := decodeMove(e.GetMove())
		if err != nil {
			return nil, err
		}
		r.Move = &EndedMove{Job: e.GetJob(), Outcome: e.GetOutcome(), StartedMicros: e.GetStartedMicros(),
			Error: e.GetError(), Move: *m}
	}
	return r, nil
}
