// Package splitdoc adds the parts of split documents to the counters of the rows that a scan reads.
//
// The sums come with the task, from the gateway; the package reads nothing itself.
package splitdoc
