// Package ownership is the state machine of the buckets that a fragment owns (C1): what its log
// says about them, how the entries of a move change that, and what requests are answered by it. It
// is pure: a step changes a Machine and reports what it did. The caller applies entries in log
// order, deletes what a step leaves behind, counts rows, and makes requests wait.
//
//	source   owned ── Fence F ──▶ fenced ── MoveAway ──▶ gone ── Clean
//	         fenced ── Unfence ──▶ owned
//	target   not owned, gone ── BeginIngest ──▶ receiving ── Own ──▶ owned
//	         receiving ── Abandon ──▶ gone
//
// A Machine has a list of pieces: ranges of buckets in order, which do not overlap. A bucket in
// none is as at the beginning (Map.First). The list is never changed in place, because readers
// share it. It stays short, however many moves there were: Tidied forgets what only reads below the
// watermark would need, and joins neighbours that are equal then.
//
//   - OW1 A step counts for all of its ranges or for none. A step that is done already changes
//     nothing.
//   - OW2 Numbers of moves rise, and each piece keeps the last one: a step of an older move is
//     void, even if it is late or duplicated.
//   - OW3 A bucket that is received gets a generation above all that it has had here.
package ownership
