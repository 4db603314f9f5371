package sql

import "github.com/sherddb/sherd/internal/pgerr"

// SetPolicy implements builtin.PolicyInfo.
func (i info) SetPolicy(uint32, string) error {
	return pgerr.Unsupported("sherd.set_policy is not supported yet").WithHint("Use ALTER TABLE … SET (shard_by = …, shard_range = …).")
}

// ValidatePolicy implements builtin.PolicyInfo.
func (i info) ValidatePolicy(uint32, func(id string, bucket uint32, detail string) error) error {
	return pgerr.Unsupported("sherd.validate_policy is not supported yet").WithHint("Use ALTER TABLE … VALIDATE CONSTRAINT sharding.")
}

// Check implements builtin.PolicyInfo.
func (i info) Check(func(check, subject string, ok bool, detail string) error) error {
	return pgerr.Unsupported("sherd.check is not supported yet")
}
