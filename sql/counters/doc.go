// Package counters runs statements about tables with split documents.
//
// The counters of a document that sherd.hot_split has split are in its row and in parts: rows of a
// hidden table (catalog.Hot) that lie in as many buckets as there are parts. So sessions that add
// to one counter at once do not wait for each other. A statement about such a table is one of three
// things. Which of them it is follows from the keys that it names when it runs:
//
//   - An increment adds to one part, chosen by the session, and does not touch the document
//     (increment.go).
//   - A read adds what the parts hold to the rows that it reads, all at its own timestamp
//     (plan.Scan.Sums).
//   - Any other write, and a row lock, first puts the parts into the document, and then holds the
//     locks of all of them (fold.go).
//
// This is correct because of three rules. Parts of a document exist if and only if the document is
// split and exists. A transaction that writes the document's own row has the locks of all its
// parts. What is split changes under the lock of the whole table, so every program knows it.
// docs/decisions/2026-11-22-hot-documents.md says more.
package counters
