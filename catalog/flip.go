package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// ErrStepOver means that a step of a move may not flip any more: it was aborted, or its job was
// paused or cancelled.
var ErrStepOver = errors.New("catalog: the step of the move is over")

// DefinitionsChangedError means that a step cannot flip, because index entries were derived from
// definitions that have changed since.
type DefinitionsChangedError struct{ Why string }

func (e *DefinitionsChangedError) Error() string { return e.Why }

// step returns the move of a job, if its step has the number.
func (c *Change) step(job, number uint64) (RunningMove, error) {
	m, ok := c.base.MoveOf(job)
	if !ok || m.Step.Number != number {
		return m, ErrStepOver
	}
	return m, nil
}

// Flip makes the target of a move's step the owner of its buckets. The next epoch of the bucket map
// and the flipped step are one change. derived has the versions of the tables from which index
// entries were derived, and of all other tables that have a global index (View.FlipsWith). Flip
// returns a DefinitionsChangedError if a table has another version, or if an index of the database
// is being built, and ErrStepOver if the step is not running. note adds what the move has to keep:
// F, Since, counters.
func (c *Change) Flip(job, number uint64, derived map[OID]uint64, note func(*Move), micros int64) error {
	m, err := c.step(job, number)
	if err != nil {
		return err
	}
	if m.Job.State != JobRunning || m.Step.Phase != StepRunning {
		return ErrStepOver
	}
	d := c.base.Database(m.Job.Database)
	if d == nil || d.FragmentByID(m.Target) == nil || !owns(d, m.Move) {
		return ErrStepOver
	}
	if err := c.requireDerived(d.OID, derived); err != nil {
		return err
	}
	d = d.Clone()
	if m.Resegment != nil {
		err = c.resegment(d, m)
	} else if d.Map, err = d.Map.Reassign(m.Step.Interval, m.Target); err == nil {
		err = c.PutDatabase(d)
	}
	if err != nil {
		return err
	}
	m.Step.Phase, m.Waits = StepFlipped, ""
	m.Steps++
	note(m.Move)
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// FlipsWith adds the versions of the database's other tables that have global indexes to derived.
// Their entries are copied as they are, and the definitions decide which entries those are.
func (v *View) FlipsWith(database OID, derived map[OID]uint64) {
	for t := range v.Tables(database) {
		if _, ok := derived[t.OID]; !ok && t.hasGlobal() {
			derived[t.OID] = t.Version
		}
	}
}

func (t *Table) hasGlobal() bool {
	return slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.Global })
}

// owns reports whether the source of a move's step has its buckets.
func owns(d *Database, m *Move) bool {
	s := m.Step
	if m.Resegment != nil {
		f, ok := m.Resegment.From(d.Map)
		return ok && f == s.Source
	}
	return slices.ContainsFunc(d.Map.Ranges(), func(r shardmap.Range) bool {
		return r.Fragment == s.Source &&
			r.Lo <= s.Lo && s.Hi <= r.Hi
	})
}

func (c *Change) requireDerived(database OID, derived map[OID]uint64) error {
	for oid, version := range derived {
		t := c.base.Table(oid)
		if t == nil || t.Version != version {
			return &DefinitionsChangedError{"a table's definition has changed"}
		}
		if err := c.Require(oid); err != nil {
			return err
		}
	}
	for t := range c.base.Tables(database) {
		if _, ok := derived[t.OID]; !ok && t.hasGlobal() {
			return &DefinitionsChangedError{fmt.Sprintf("table %q has got a global index", t.Name)}
		}
		for i := range t.Indexes {
			if t.Indexes[i].State == IndexBuilding {
				return &DefinitionsChangedError{fmt.Sprintf("index %q is being built", t.Indexes[i].Name)}
			}
		}
	}
	return nil
}

// BeginStep starts a step of a move, with a new number. It returns ErrStepOver if the move has an
// open step or is not running.
func (c *Change) BeginStep(job uint64, s MoveStep, micros int64) error {
	m, ok := c.base.MoveOf(job)
	if !ok || m.Job.State != JobRunning || m.Step.Open() {
		return ErrStepOver
	}
	s.Phase = StepRunning
	m.Step, m.Waits = s, ""
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// RenewStep assigns a new number to an aborted step whose fence was lifted, so that the source can
// be fenced again. The target keeps what was copied, and continues to ingest under the number that
// it has. RenewStep returns ErrStepOver if the move is not running or the step is not aborted.
func (c *Change) RenewStep(job, number, next uint64, note func(*Move), micros int64) error {
	m, err := c.step(job, number)
	if err != nil {
		return err
	}
	if m.Job.State != JobRunning || m.Step.Phase != StepAborted || next <= number {
		return ErrStepOver
	}
	m.Step.Receipt = m.Step.IngestNumber()
	m.Step.Number, m.Step.Phase = next, StepRunning
	note(m.Move)
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// SetWaits records what a move waits for.
func (c *Change) SetWaits(job uint64, waits string, micros int64) error {
	m, ok := c.base.MoveOf(job)
	if !ok || m.Job.State != JobRunning || m.Waits == waits {
		return nil
	}
	m.Waits = waits
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// AbortStep writes down that a step never flips; nothing happens if it is not running any more.
func (c *Change) AbortStep(job, number uint64, why string, micros int64) error {
	m, err := c.step(job, number)
	if err != nil || m.Step.Phase != StepRunning {
		return nil
	}
	m.Step.Phase, m.Waits = StepAborted, why
	m.Retries++
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// FinishStep records that the fragments know that a step was aborted or has flipped. It does
// nothing if that is recorded already.
func (c *Change) FinishStep(job, number uint64, note func(*Move), micros int64) error {
	m, err := c.step(job, number)
	if err != nil || m.Step.Phase != StepAborted && m.Step.Phase != StepFlipped {
		return nil
	}
	m.Step.Phase = StepDone
	note(m.Move)
	return c.PutJob(m.Job.WithMove(m.Move, micros))
}

// EndMove ends a job without an open step, and records its outcome.
func (c *Change) EndMove(job uint64, outcome, why string, micros int64) error {
	m, ok := c.base.MoveOf(job)
	if !ok || m.Step.Open() {
		return nil
	}
	c.DropJob(job)
	r := &Record{
		Kind: MoveRecord, Database: m.Job.Database, Subject: c.subject(m.Move), Change: outcome, Who: m.Who, Why: m.Why,
		Plan: m.Plan,
		Move: &EndedMove{Job: job, Outcome: outcome, StartedMicros: m.Job.StartedMicros, Error: why, Move: *m.Move},
	}
	r.Move.Step, r.Move.Waits = MoveStep{}, ""
	if err := c.Record(r, micros); err != nil || !m.Pin || outcome != string(JobDone) {
		return err
	}
	return c.pinMoved(m, micros)
}

// pinMoved pins the buckets that a move has brought, unless another pin overlaps them.
func (c *Change) pinMoved(m RunningMove, micros int64) error {
	d := c.base.Database(m.Job.Database)
	if d == nil || len(d.Remaining(&Move{Interval: m.Interval, Target: m.Target})) > 0 {
		return nil
	}
	for _, p := range d.Pins {
		if !p.Intersect(m.Interval).Empty() {
			return nil
		}
	}
	d = d.Clone()
	d.Pins = append(d.Pins, Pin{m.Interval, m.Target, m.Anchors})
	slices.SortFunc(d.Pins, func(x, y Pin) int { return int(x.Lo) - int(y.Lo) })
	a := Author{Who: m.Who, Why: m.Why, Plan: m.Plan, Micros: micros}
	return errors.Join(c.PutDatabase(d), c.note(a, PinRecord, d, c.subject(m.Move), "pinned to "+d.NameOf(m.Target)))
}
