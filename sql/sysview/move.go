package sysview

import (
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// moves is sherd.moves.
func moves(b *builder) error {
	d := b.env.Database
	list := b.env.View.Moves(d.OID)
	if len(list) == 0 {
		return nil
	}
	stats, _, err := b.env.counted(d, 0)
	if err != nil {
		return err
	}
	for _, m := range list {
		left, bytes := 0, int64(0)
		source := ""
		for _, r := range d.Remaining(m.Move) {
			left += r.Len()
			bytes += sizeOf(stats, r)
			if source == "" {
				source = d.NameOf(r.Fragment)
			}
		}
		r := b.row().int("id", int64(m.Job.ID)).text("what", m.Name(b.env.keysOf)).int("first_bucket", int64(m.Lo)).
			int("end_bucket", int64(m.Hi)).
			text("target", d.NameOf(m.Target)).text("state", string(m.Job.State)).int("buckets_left", int64(left)).
			int("bytes_left", bytes).
			int("documents", m.Documents).int("bytes", m.Bytes).int("bytes_per_second", m.Rate).
			set("blocked_ms", milliseconds(m.Blocked)).
			set("worst_blocked_ms", milliseconds(m.Worst)).int("retries", m.Retries).optional("waits_for", m.Waits).
			time("started", time.UnixMicro(m.Job.StartedMicros)).time("updated", time.UnixMicro(m.Job.UpdatedMicros)).
			text("who", m.Who).optional("why", m.Why).optional("error", m.Job.Error).plan(m.Plan)
		if s := m.Step; s.Open() {
			source = d.NameOf(s.Source)
			r.text("phase", s.Phase.String()).int("step", int64(s.Number)).int("step_first", int64(s.Lo)).
				int("step_end", int64(s.Hi))
		}
		if err := r.optional("source", source).send(); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf estimates the bytes in a range, assuming that documents are spread evenly over each group
// of buckets that is counted together.
func sizeOf(stats []Stat, r shardmap.Range) (bytes int64) {
	for _, s := range stats {
		in := r.Intersect(shardmap.Interval{Lo: s.From, Hi: s.To})
		if s.Fragment == r.Fragment && !in.Empty() {
			bytes += s.Bytes * int64(in.Len()) / int64(s.To-s.From)
		}
	}
	return bytes
}

func milliseconds(micros int64) types.Datum { return types.NewFloat8(float64(micros) / 1000) }

// plan sets the number of the plan, if there is one.
func (r *record) plan(number uint64) *record {
	if number == 0 {
		return r
	}
	return r.int("plan", int64(number))
}

// moveHistory is sherd.move_history.
func moveHistory(b *builder) error {
	d := b.env.Database
	for r := range b.env.View.Records() {
		m := r.Move
		if m == nil || r.Database != d.OID {
			continue
		}
		err := b.row().int("id", int64(m.Job)).text("what", m.Name(b.env.keysOf)).int("first_bucket", int64(m.Lo)).
			int("end_bucket", int64(m.Hi)).
			optional("target", d.NameOf(m.Target)).text("outcome", m.Outcome).
			time("started", time.UnixMicro(m.StartedMicros)).time("ended", r.At()).int("steps", m.Steps).
			int("documents", m.Documents).int("bytes", m.Bytes).set("blocked_ms", milliseconds(m.Blocked)).
			set("worst_blocked_ms", milliseconds(m.Worst)).
			int("retries", m.Retries).text("who", m.Who).optional("why", m.Why).plan(m.Plan).optional("error", m.Error).
			send()
		if err != nil {
			return err
		}
	}
	return nil
}

// changelog is sherd.changelog. Only superusers see records of other databases, which contain table
// names and segment keys.
func changelog(b *builder) error {
	for r := range b.env.View.Records() {
		if r.Database != 0 && r.Database != b.env.Database.OID && b.secret() {
			continue
		}
		row := b.row().time("at", r.At()).text("kind", r.Kind).optional("database", b.env.databaseName(r.Database)).
			text("subject", b.env.subjectOf(r)).
			text("change", changeText(r)).text("who", r.Who).optional("why", r.Why).plan(r.Plan)
		if err := row.send(); err != nil {
			return err
		}
	}
	return nil
}

// changeText returns the change of a record; for a move, its result.
func changeText(r *catalog.Record) string {
	if r.Move != nil {
		return "move " + r.Move.Outcome
	}
	return r.Change
}

// subjectOf returns the subject of a record; for a move, as in sherd.move_history.
func (e *Env) subjectOf(r *catalog.Record) string {
	if r.Move != nil && len(r.Move.Segments) > 0 {
		return r.Move.Name(e.keysOf)
	}
	return r.Subject
}

// keysOf returns the name of a moved segment as in sherd.segments, with readable keys while the
// table has rows with such keys.
func (e *Env) keysOf(s *catalog.MovedSegment) string {
	t := e.View.Table(s.Table)
	if t == nil || t.StorageID != s.Storage {
		return e.View.SegmentName(s)
	}
	return fmt.Sprintf("%s [%s, %s)", e.View.SegmentName(s), SegmentText(t, s.Keys.Start), SegmentText(t, s.Keys.End))
}

func (e *Env) databaseName(oid catalog.OID) string {
	if d := e.View.Database(oid); d != nil {
		return d.Name
	}
	return ""
}

// pins is sherd.pins.
func pins(b *builder) error {
	d := b.env.Database
	for _, p := range d.Pins {
		err := b.row().int("first_bucket", int64(p.Lo)).int("end_bucket", int64(p.Hi)).
			text("fragment", d.NameOf(p.Fragment)).
			texts("anchors", p.Anchors).send()
		if err != nil {
			return err
		}
	}
	return nil
}
