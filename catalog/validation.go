package catalog

// ValidationJob is the kind of a job that checks, one range of buckets after another, whether the
// documents of a collection (Job.Table) are where its policy allows. If all are, the policy becomes
// trusted. Done counts the documents that were checked.
const ValidationJob = "validation"

// Validation is the payload of a ValidationJob. New documents obey the policy, so a range that was
// checked stays correct until the table's definition changes.
type Validation struct {
	// Of the definition that Next, Count and Some belong to.
	Version uint64 `json:"version,omitempty"`
	Next    uint32 `json:"next"` // the first bucket that is not checked yet
	// Documents in buckets that the policy does not allow.
	Count int64       `json:"count,omitempty"`
	Some  []Offending `json:"some,omitempty"` // the first of them
	Who   string      `json:"who,omitempty"`
}

// MaxOffending is the number of documents that a Validation names.
const MaxOffending = 100

// Offending is a document in a bucket that the policy of its collection does not allow.
type Offending struct {
	ID     string `json:"id"`
	Bucket uint32 `json:"bucket"`
	Detail string `json:"detail"`
}

// Validation returns the payload of a ValidationJob.
func (j *Job) Validation() (r Validation, err error) {
	err = j.payload(ValidationJob, &r)
	return r, err
}
