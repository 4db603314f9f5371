package catalog

import "encoding/binary"

// BuildIndexJob is the kind of a job that stands for an index that is being built beside the table's users. Done and Total count rows. The session that
// builds it ends the job; a start ends what a dead process has left.
const BuildIndexJob = "build_index"

// NewBuildIndexJob makes the job of an index of a table that is kept under a storage id; micros is the time now.
func NewBuildIndexJob(id uint64, t *Table, x *Index, micros int64) *Job {
	p := binary.BigEndian.AppendUint32(nil, t.StorageID)
	p = binary.BigEndian.AppendUint32(p, x.StorageID)
	return &Job{
		ID: id, Kind: BuildIndexJob, State: JobRunning, Database: t.Database, Table: t.OID, Payload: binary.BigEndian.AppendUint32(p, x.OID),
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

// Unbuild takes the index of a BuildIndexJob out of its table, where it is there and not finished. The job stays.
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

// Discard makes a BuildIndexJob the one that deletes what the index left: nobody keeps it any more. Where nobody was told that the build has
// failed, why says so: the job keeps it (Swept).
func (c *Change) Discard(j *Job, micros int64, why string) error {
	table, index, _, _ := j.BuiltIndex()
	d := NewDropIndexJob(j.ID, j.Database, table, index, micros)
	d.Table, d.Error, d.StartedMicros = j.Table, why, j.StartedMicros
	return c.PutJob(d)
}

// Swept ends the job that has deleted what a table or an index left. One that has an error is kept as a failed build, for people to see.
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
