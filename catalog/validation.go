package catalog

// ValidationJob is the kind of a job that looks whether the documents of a collection (Job.Table) lie where its policy allows, bucket range by bucket range, and trusts the
// policy where all do. Done counts the documents that were looked at.
const ValidationJob = "validation"

// Validation is the payload of a ValidationJob. New documents obey the policy, so a range that has been looked at stays right for as long as the table's definition is what it was.
type Validation struct {
	Version uint64      `json:"version,omitempty"` // of the definition that Next, Count and Some are of
	Next    uint32      `json:"next"`              // the first bucket that has not been looked at
	Count   int64       `json:"count,omitempty"`   // documents that lie elsewhere
	Some    []Offending `json:"some,omitempty"`    // the first of them
	Who     string      `json:"who,omitempty"`
}

// MaxOffending is how many documents a Validation names.
const MaxOffending = 100

// Offending is a document that lies where the policy of its collection does not allow.
type Offending struct {
	ID     string `json:"id"`
	Bucket uint32 `json:"bucket"`
	Detail string `json:"detail"`
}

// Validation returns what a ValidationJob is about.
func (j *Job) Validation() (r Validation, err error) {
	err = j.payload(ValidationJob, &r)
	return r, err
}
