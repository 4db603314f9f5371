package shardmap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ConstraintName is the name under which a collection's policy shows in \d and in errors.
const ConstraintName = "sharding"

// MaxRange is the largest Range of a policy: one block that is the whole space.
const MaxRange = BucketCount

// Policy says how the content of a collection's documents chooses their buckets. Make it with
// NewPolicy or by parsing; it is immutable.
type Policy struct {
	Fields  []Field
	Range   uint32 // buckets in a block, 1 … MaxRange
	Mutable bool   // no validation and no routing by content
}

// NewPolicy checks the parts and makes a policy. Errors are 22023.
func NewPolicy(fields []Field, rng int64, mutable bool) (*Policy, error) {
	switch {
	case len(fields) == 0:
		return nil, policyError("a sharding policy needs at least one field")
	case len(fields) > maxFields:
		return nil, policyError("a sharding policy has at most %d fields", maxFields)
	case rng < 1 || rng > MaxRange:
		return nil, policyError("the range of a sharding policy must be between 1 and %d", MaxRange).
			WithDetail("The range given is %d.", rng)
	}
	for i, f := range fields {
		if f.Func == IDFunc && len(fields) > 1 {
			return nil, policyError("id() cannot be combined with other fields")
		}
		if slices.ContainsFunc(fields[:i], f.Equal) {
			return nil, policyError("field %s appears twice in the sharding policy", f)
		}
	}
	return &Policy{Fields: slices.Clone(fields), Range: uint32(rng), Mutable: mutable}, nil
}

func policyError(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, format, args...)
}

// IsID reports whether the policy is id(): every document lies where its own id says.
func (p *Policy) IsID() bool { return p.Fields[0].Func == IDFunc }

// Equal reports whether both policies say the same.
func (p *Policy) Equal(q *Policy) bool {
	return p.sameFields(q) && p.Range == q.Range && p.Mutable == q.Mutable
}

func (p *Policy) sameFields(q *Policy) bool { return slices.EqualFunc(p.Fields, q.Fields, Field.Equal) }

// Definition prints the policy for \d, as a constraint's text.
func (p *Policy) Definition() string {
	var b strings.Builder
	fmt.Fprintf(&b, "SHARDING BY (%s)", p.ByString())
	if p.Range != 1 {
		fmt.Fprintf(&b, " RANGE %d", p.Range)
	}
	if p.Mutable {
		b.WriteString(" MUTABLE")
	}
	return b.String()
}

// KeepsValidated reports whether a policy that is validated stays so when it is changed from p to q
// (B5): the fields must be the same and neither side mutable, and q's range a multiple of p's. A
// change to id() is true of every document. Every other change needs a scan, unless the collection
// is empty.
func (p *Policy) KeepsValidated(q *Policy) bool {
	switch {
	case q.Mutable:
		return false
	case q.IsID():
		return true
	case p.Mutable:
		return false
	}
	return p.sameFields(q) && q.Range%p.Range == 0
}
