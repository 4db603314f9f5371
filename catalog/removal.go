package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
	"google.golang.org/protobuf/proto"
)

// RemovalJob is the kind of a job that removes a fragment from its database: its buckets move to
// other fragments, then it is dropped. The moves have the job's number as their plan.
const RemovalJob = "remove_fragment"

// Removal is the payload of a RemovalJob.
type Removal struct {
	Fragment uint32
	Who, Why string
	Waits    string // what the removal waits for; "" if it continues
}

// NewRemovalJob returns the job of a removal; micros is the current time.
func NewRemovalJob(id uint64, database OID, r *Removal, micros int64) *Job {
	j := &Job{ID: id, Kind: RemovalJob, State: JobRunning, Database: database, StartedMicros: micros}
	return j.WithRemoval(r, micros)
}

// Removal returns the payload of a RemovalJob, and an error for other jobs. The caller owns it.
func (j *Job) Removal() (*Removal, error) {
	if j.Kind != RemovalJob {
		return nil, fmt.Errorf("job %d removes no fragment", j.ID)
	}
	var p pb.Removal
	if err := proto.Unmarshal(j.Payload, &p); err != nil {
		return nil, fmt.Errorf("job %d: %w", j.ID, err)
	}
	if p.GetFragment() == 0 {
		return nil, fmt.Errorf("job %d names no fragment", j.ID)
	}
	return &Removal{p.GetFragment(), p.GetWho(), p.GetWhy(), p.GetWaits()}, nil
}

// WithRemoval returns a copy of the job with another payload; micros is the current time.
func (j *Job) WithRemoval(r *Removal, micros int64) *Job {
	j = j.Clone()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.Removal{Fragment: r.Fragment, Who: r.Who,
		Why: r.Why, Waits: r.Waits})
	if err != nil {
		// The texts were checked to be UTF-8 when they were read.
		panic("catalog: a removal cannot be encoded: " + err.Error())
	}
	j.Payload, j.UpdatedMicros = data, micros
	return j
}

// RemoveFragment starts to remove a fragment from its database; id is a new job number.
func (c *Change) RemoveFragment(id uint64, database OID, fragment uint32, a Author) error {
	d := c.current(c.base.Database(database))
	f := d.FragmentByID(fragment)
	name := d.NameOf(fragment)
	if f.Draining {
		return pgerr.New(pgerr.ObjectInUse, `fragment "%s" is being removed`, name).
			WithHint("sherd.jobs tells how far it is.")
	}
	others := 0
	for i := range d.Fragments {
		if f := &d.Fragments[i]; !f.Draining && !d.Isolates(f.ID) {
			others++
		}
	}
	if others <= 1 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`fragment "%s" cannot be removed: no other fragment of database "%s" can take its buckets`, name, d.Name).
			WithHint("Add one first, with SELECT sherd.add_fragment(%s).", quoteLiteral(d.Name))
	}
	for _, p := range d.Pins {
		if p.Fragment == fragment {
			return pgerr.New(pgerr.ObjectInUse, `fragment "%s" cannot be removed: %s pinned to it`, name,
				c.shown(d.OID, p.Interval)).
				WithHint("SELECT sherd.unpin(%s, %d, %d) ends the pin.", quoteLiteral(d.Name), p.Lo, p.Hi)
		}
	}
	if r := d.prefixNeeds(fragment); r != nil {
		return pgerr.New(pgerr.ObjectInUse, `fragment "%s" cannot be removed: ids under prefix "%s" are to be in it`,
			name, r.Text).
			WithHint("sherd.set_prefix names other fragments for the prefix.")
	}
	for _, m := range c.movesIn(database) {
		if m.Target == fragment {
			return pgerr.New(pgerr.ObjectInUse, `fragment "%s" cannot be removed: move %d brings buckets to it`, name,
				m.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", m.Job.ID)
		}
	}
	f.Draining = true
	j := NewRemovalJob(id, database, &Removal{Fragment: fragment, Who: a.Who, Why: a.Why}, a.Micros)
	return errors.Join(c.PutDatabase(d), c.PutJob(j), c.note(a, FragmentRecord, d, name, "removal begun"))
}

// FinishRemoval drops a fragment that owns no buckets, together with the job that removes it.
func (c *Change) FinishRemoval(job uint64, micros int64) error {
	j := c.base.Job(job)
	if j == nil || j.State != JobRunning {
		return nil
	}
	r, err := j.Removal()
	if err != nil {
		return err
	}
	d := c.current(c.base.Database(j.Database))
	name := d.NameOf(r.Fragment)
	if !d.Map.Owned(r.Fragment).IsEmpty() {
		return fmt.Errorf("catalog: fragment %s owns buckets", name)
	}
	for _, m := range c.base.Moves(j.Database) {
		if m.Source == r.Fragment || m.Step.Source == r.Fragment && m.Step.Open() {
			return fmt.Errorf("catalog: fragment %s is the source of move %d", name, m.Job.ID)
		}
	}
	for i := range d.Fragments {
		if d.Fragments[i].ID == r.Fragment {
			d.Fragments = append(d.Fragments[:i], d.Fragments[i+1:]...)
			break
		}
	}
	c.DropJob(job)
	a := Author{Who: r.Who, Why: r.Why, Plan: job, Micros: micros}
	return errors.Join(c.PutDatabase(d), c.note(a, FragmentRecord, d, name, "removed"))
}

// cancelRemoval ends the removal of a fragment. The fragment stays, with the buckets that it still
// owns.
func (c *Change) cancelRemoval(j *Job, r *Removal, a Author) error {
	d := c.current(c.base.Database(j.Database))
	if f := d.FragmentByID(r.Fragment); f != nil {
		f.Draining = false
	}
	for _, m := range c.base.Moves(j.Database) {
		if m.Plan == j.ID && m.Source == r.Fragment {
			if err := c.setMove(m, JobCancelled, a); err != nil {
				return err
			}
		}
	}
	c.DropJob(j.ID)
	return errors.Join(c.PutDatabase(d), c.note(a, FragmentRecord, d, d.NameOf(r.Fragment), "removal cancelled"))
}
