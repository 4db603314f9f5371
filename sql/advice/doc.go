// Package advice evaluates sharding policies by the documents and the statements of a collection:
// how evenly a policy would spread the documents, which it would reject, which statements it would
// keep in one fragment, and whether all new documents would go to one place.
//
//	documents ──▶ Paths (which fields could be a policy) ──▶ candidates
//	documents ──▶ a Judge for each candidate ──┐
//	statements, planned under each candidate ──┴──▶ Report: figures, and advice in words
//
// The package is pure: it reads no table and plans no statement; package sql does, for
// sherd.policy_advice().
//
// Limits. A Judge counts documents in each of the 1,048,576 buckets (4 MiB). Distinct values are
// estimated by linear counting (Whang and others, 1990), to about 1 % up to four million. Whether
// values rise with time is derived from the numbers in ids, as the server generates them; if ids
// have no numbers, it is not known.
package advice
