package catalog

import (
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
)

// JobState is the state of a job.
type JobState string

// States of jobs.
const (
	JobRunning   JobState = "running"
	JobPaused    JobState = "paused"
	JobCancelled JobState = "cancelled"
	JobFailed    JobState = "failed"
	JobDone      JobState = "done"
	JobProposed  JobState = "proposed" // of a plan that is not applied yet
)

// Job is resumable work in the background: a validation scan, a move, an index build. The node that
// runs it records its progress here; after a crash it resumes from Payload.
type Job struct {
	ID            uint64
	Kind          string // names the runner, for instance "validate_policy"
	State         JobState
	Database      OID // 0 if the job belongs to no database
	Table         OID // 0 if the job belongs to no table
	Payload       []byte
	Done, Total   int64 // in units of the kind
	Error         string
	StartedMicros int64 // since 1970 UTC, by the proposer's clock
	UpdatedMicros int64
	// The node that runs it; if the node is removed, so is the job. 0: any node, or the only one.
	Node  uint32
	Swept []uint32 // fragments that are done with it
}

// DropStorageJob is the kind of a job that deletes the rows and indexes of a table that was dropped
// or rewritten.
const DropStorageJob = "drop_storage"

// NewDropStorageJob returns the job that deletes everything in a database's fragments under a
// storage id; micros is the current time.
func NewDropStorageJob(id uint64, database OID, storageID uint32, micros int64) *Job {
	return &Job{
		ID: id, Kind: DropStorageJob, State: JobRunning, Database: database,
		Payload:       binary.BigEndian.AppendUint32(nil, storageID),
		StartedMicros: micros, UpdatedMicros: micros,
	}
}

// NewDropTableJob is NewDropStorageJob for a table with its definition. After the rows of its
// segments are deleted, the job releases the buckets that no table uses any more.
func NewDropTableJob(id uint64, t *Table, micros int64) *Job {
	j := NewDropStorageJob(id, t.Database, t.StorageID, micros)
	for _, s := range t.Segments {
		j.Payload = binary.BigEndian.AppendUint32(j.Payload, uint32(s.Bucket))
	}
	return j
}

// DroppedStorage returns the storage id that a DropStorageJob is about.
func (j *Job) DroppedStorage() (storageID uint32, ok bool) {
	if j.Kind != DropStorageJob || len(j.Payload) == 0 || len(j.Payload)%4 != 0 {
		return 0, false
	}
	return binary.BigEndian.Uint32(j.Payload), true
}

// droppedBuckets returns the buckets of the segments that the table had.
func (j *Job) droppedBuckets() shardmap.BucketSet {
	var out []shardmap.Bucket
	if _, ok := j.DroppedStorage(); ok {
		for b := j.Payload[4:]; len(b) > 0; b = b[4:] {
			out = append(out, shardmap.Bucket(binary.BigEndian.Uint32(b)))
		}
	}
	return shardmap.BucketSetOf(out...)
}

// DropIndexJob is the kind of a job that deletes the entries of an index that was dropped.
const DropIndexJob = "drop_index"

// NewDropIndexJob returns the job that deletes the entries of an index in a database's fragments;
// table and index are storage ids, micros is the current time.
func NewDropIndexJob(id uint64, database OID, table, index uint32, micros int64) *Job {
	return &Job{
		ID: id, Kind: DropIndexJob, State: JobRunning, Database: database,
		Payload:       binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, table), index),
		StartedMicros: micros, UpdatedMicros: micros,
	}
}

// DroppedIndex returns the storage ids of the table and the index that a DropIndexJob is about.
func (j *Job) DroppedIndex() (table, index uint32, ok bool) {
	if j.Kind != DropIndexJob || len(j.Payload) != 8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(j.Payload), binary.BigEndian.Uint32(j.Payload[4:]), true
}

// Cluster holds what concerns the whole cluster. Bootstrap creates it once.
type Cluster struct {
	ID string // a UUID; also in DATA/VERSION of every node
	// Format is the version of the cluster: the newest that may be written to disk or used between
	// nodes (V4). It only rises.
	Format   uint32
	Settings map[string]string // made by ALTER SYSTEM
}
