package catalog

// JobState says how far a job is.
type JobState string

// States of jobs.
const (
	JobRunning   JobState = "running"
	JobPaused    JobState = "paused"
	JobCancelled JobState = "cancelled"
	JobFailed    JobState = "failed"
	JobDone      JobState = "done"
)

// Job is resumable work in the background: a validation scan, a move, an index build. Whoever runs it records here how far it is; a
// crash resumes it from Payload.
type Job struct {
	ID            uint64
	Kind          string // names the runner, for instance "validate_policy"
	State         JobState
	Database      OID // 0 if it concerns none
	Table         OID // 0 if it concerns none
	Payload       []byte
	Done, Total   int64 // in units of the kind
	Error         string
	StartedMicros int64 // since 1970 UTC, by the proposer's clock
	UpdatedMicros int64
}

// Cluster is what concerns the cluster as a whole. It is made once, by Bootstrap.
type Cluster struct {
	ID       string            // a UUID; also in DATA/VERSION of every node
	Format   uint32            // the newest format that may be written (V4)
	Settings map[string]string // made by ALTER SYSTEM
}
