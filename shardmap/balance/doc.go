// Package balance decides what should move: buckets between the fragments of a database, leadership and replicas between nodes.
//
// It is pure: a picture of the cluster in (Input), an ordered list of steps out (Plan). It reads no clock, starts nothing and carries nothing out; the
// same picture gives the same plan. Whoever carries a plan out looks again after each step, so a plan is never a promise.
//
// The rules, which are section 6 of the specification made exact:
//
//	N1  A round begins where two fragments that touch in the bucket map differ by 64 MiB or more, and by more than 5 % of the larger or more than 1 GiB;
//	    or where any two differ by twice that, so that many small differences in a row do not add up; or where a fragment has to be filled or emptied.
//	N2  A round ends with each fragment within half of what begins one, around its share, and moves no more than that takes: the bytes moved
//	    are at most those of the plan that makes all shares exact. What a round leaves begins no other.
//	N3  A fragment gives first to those that touch it, from the edge where they touch; what is left goes from the largest to the smallest.
//	N4  A bucket above 128 MiB is not moved for balance. Where one is in the way at an edge, the other edges are tried, then the range is split behind it. The same
//	    holds for what is larger than what should go. Where nothing else is left, one goes that is larger, if the two fragments come nearer to each other by it.
//	N5  A share is in proportion to the weights of the nodes that hold the fragment; no fragment is given more than the limits of its nodes leave.
//	N6  A rule (a pin, a zone) says on which fragments an interval may be. What is elsewhere goes there first, and nothing leaves against a rule.
//	    Fragments on which rules keep more than their shares are left at that, and the others share the rest.
//	N7  Heat counts in auto alone: leadership moves first, since it costs nothing, then buckets, and only so many that N1 is not met by it.
//	N8  Of a pair of fragments one move at a time runs (Plan.Startable).
//	N9  Replicas are placed by shardmap.NextPlacement; nothing is replaced while a majority of the nodes is silent.
//	N10 Segments of range tables count for the shares, and move as a whole; none is too big to be moved. Those of a table of less than 64 MiB go by their number
//	    (EvenSegments), where that begins no round.
//	N11 A segment above a limit of bytes, or of writes a second for five minutes, is split, the latter only where a part can go elsewhere. Neighbours that have less
//	    than half of the limits together, of writes for ten minutes, become one, but where a person said that one begins, or one is pinned.
//
// Keys of segments are not part of a plan: who carries it out asks for some and has CutBySize or CutByWrites choose.
//
// Sizes come as cells: one bucket, or a run of buckets. How the bytes of a run that is Whole are spread is not known, so it moves as a whole, and not at all above 128 MiB;
// others are taken as spread evenly. A step's bytes are the sum of its cells; where a rule or heat has cut a whole one, the step says that they are an estimate.
package balance
