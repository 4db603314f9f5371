package catalog

import "encoding/binary"

// BuildIndexJob is the kind of a job for an index that is being built while the table is in use.
// Done and Total count rows. The session that builds the index ends the job; if that process died,
// the next start ends it.
const BuildIndexJob = "build_index"

// NewBuildIndexJob returns the job for an index of a table; micros is the current time.
func NewBuildIndexJob(id uint64, t *Table, x *Index, micros int64) *Job {
	p := binary.BigEndian.AppendUint32(nil, t.StorageID)
	p = binary.BigEndian.AppendUint32(p, x.StorageID)
	return &Job{
		ID: id, Kind: BuildIndexJob, State: JobRunning, Database: t.Database, Table: t.OID,
		Payload:       binary.BigEndian.AppendUint32(p, x.OID),
		StartedMicros: micros, UpdatedMicros: micros,
	}
}

// BuiltIndex returns the storage ids of the table and the index, and the index's OID, that a
// BuildIndexJob is about.
func (j *Job) BuiltIndex() (table, index uint32, oid OID, ok bool) {
	if j.Kind != BuildIndexJob || len(j.Payload) != 12 {
		return 0, 0, 0, false
	}
	n := binary.BigEndian.Uint32
	return n(j.Payload), n(j.Payload[4:]), n(j.Payload[8:]), true
}

// Unbuild removes the index of a BuildIndexJob from its table, if it is there and not finished. The
// job stays.
func (c *Change) Unbuild(j *Job) error {
	_, _, oid, _ := j.BuiltIndex()
	t, x := c.base.Index(oid)
	if x == nil || x.State != IndexBuilding {
		return nil
	}
	t = t.Clone()
	for i := range t.Indexes {
		if t.Indexes[i].OID == oid {
			t.Indexes = append(t.Indexes[:i], t.Indexes[i+1:]...)
			break
		}
	}
	return c.PutTable(t)
}

// Discard turns a BuildIndexJob into the job that deletes the index's entries. If no client learned
// that the build failed, why is the reason, which the job keeps (Swept).
func (c *Change) Discard(j *Job, micros int64, why string) error {
	table, index, _, _ := j.BuiltIndex()
	d := NewDropIndexJob(j.ID, j.Database, table, index, micros)
	d.Table, d.Error, d.StartedMicros = j.Table, why, j.StartedMicros
	return c.PutJob(d)
}

// Swept ends the job that has deleted the rest of a table or an index. A job with an error stays as
// a failed build, for operators to see.
func (c *Change) Swept(j *Job, micros int64) error {
	if j.Error == "" {
		c.DropJob(j.ID)
		return c.takeBack(j.Database, j.droppedBuckets())
	}
	return c.PutJob(&Job{
		ID: j.ID, Kind: BuildIndexJob, State: JobFailed, Database: j.Database, Table: j.Table, Error: j.Error,
		StartedMicros: j.StartedMicros, UpdatedMicros: micros,
	})
}
