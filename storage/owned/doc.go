// Package owned publishes to the readers and writers of a fragment which buckets the fragment owns:
// what its log says (package ownership), and the changes that are proposed and not applied yet. It
// also has the gate that a move closes to find a moment for its fence.
//
// Readers load one pointer to an immutable Buckets. It is nil if nothing ever moved, and costs
// nothing then.
//
// A change that a move makes is published before the log has it, if that is right: a fence from its
// proposal on, since no reader may be promised anything above F then; that a range is owned from
// the proposal on, since a later proposal has a later place in the log; that it is gone as soon as
// the catalog says so. The next leader learns it from the log alone.
package owned
