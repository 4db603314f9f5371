// Package running checks a database of a running cluster, for sherd.check().
//
// A Checker reads each fragment at its leader, all at one timestamp, and has all replicas of a
// fragment compute a checksum of their state at one stamp (compare.go). Package verify proves what
// it reads. Package stopped checks the nodes of a cluster that does not run.
//
// The package never writes. It pins the versions that it reads.
package running
