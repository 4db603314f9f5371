// Package balance decides what should move: buckets between the fragments of a database, leadership
// and replicas between nodes.
//
// It is pure: its input is a picture of the cluster (Input), its result an ordered list of steps
// (Plan). It reads no clock, starts nothing and executes nothing; the same picture makes the same
// plan. The caller that executes a plan makes a new picture after each step, so a plan is never a
// promise.
//
// The rules:
//
//	N1  A round begins if two fragments that touch in the bucket map differ by 64 MiB or more, and
//	    by more than 5 % of the larger or more than 1 GiB; or if any two differ by twice that, so
//	    that many small differences in a row do not add up; or if a fragment has to be filled or
//	    emptied.
//	N2  A round ends with each fragment within half of what begins one, around its share, and
//	    moves no more than that takes: the bytes moved are at most those of the plan that makes
//	    all shares exact. The result of a round begins no other.
//	N3  What a fragment has too much moves first to those that touch it, from the edge where they
//	    touch; the rest moves from the largest to the smallest.
//	N4  A bucket above 128 MiB is not moved for balance. If one is in the way at an edge, the
//	    other edges are tried, then the range is split after it. The same holds for a bucket
//	    larger than what should move. If nothing else is left, a larger one moves if this brings
//	    the two fragments nearer to each other.
//	N5  A share is in proportion to the weights of the nodes that hold the fragment; no fragment
//	    gets more than the limits of its nodes leave.
//	N6  A rule (a pin, a zone) says on which fragments an interval may be. Buckets elsewhere move
//	    there first, and none moves against a rule. Fragments on which rules keep more than their
//	    shares keep it, and the others share the rest.
//	N7  Heat counts only in mode auto: leadership moves first, because it costs nothing, then
//	    buckets, and only so many that N1 does not begin a round.
//	N8  Of each pair of fragments one move at a time runs (Plan.Startable).
//	N9  shardmap.NextPlacement places replicas; nothing is replaced while a majority of the nodes
//	    is silent.
//	N10 Segments of range tables count for the shares, and move as a whole; none is too big to be
//	    moved. Those of a table of less than 64 MiB are evened out by their number (EvenSegments),
//	    if that begins no round.
//	N11 A segment above a limit of bytes, or of writes a second for five minutes, is split, the
//	    latter only if a part can move to another fragment. Neighbours that have less than half of
//	    the limits together, of writes for ten minutes, are merged, unless a user asked for the
//	    split, or one is pinned.
//
// Keys of segments are not part of a plan: the caller that executes it samples some and lets
// CutBySize or CutByWrites choose.
//
// Sizes come as cells: one bucket, or a run of buckets. It is not known how the bytes of a run that
// is Whole are spread, so the run moves as a whole, and not at all above 128 MiB; other runs are
// assumed to be even. A step's bytes are the sum of its cells; if a rule or heat has cut a whole
// run, the step says that they are an estimate.
package balance
