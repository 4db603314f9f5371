// Package route evaluates which buckets a statement reaches: the conditions of a plan.Route and of a
// plan.KeySpan, over the parameters and outer values of the running statement.
//
// A bucket is left out only if it cannot have a row that meets the conditions. What cannot be
// bounded is all buckets of the table. A null meets no condition.
package route
