// Package logentry has the entries of a fragment's log: one type for each kind, with its encoding
// and its decoding. What an entry does to a replica is storage's concern. What an entry says is
// here.
//
// An entry (V1) is encoded as
//
//	format(1) · kind(1) · stamp(8) · fields
//
// The stamp is no field of the types. A leader sets it last, under the lock that orders stamps
// (T1), in bytes that are encoded already: SetStamp. So it has a fixed place. A replica that
// applies an entry reads it with Stamp.
//
// Formats and kinds are on disk for ever: a release reads what all earlier ones have written. A
// kind gets a new field at its end, and entries without the field end before it
// (Watermark.Tidy, BeginIngest.Generation). Which of these a leader may write depends on the
// cluster version (V4), and the leader decides that before it makes the entry.
//
// Units: a timestamp is a hybrid logical clock value (txn.Timestamp), a fragment a number of the
// catalog, a bucket one of shardmap's. Sizes are bytes.
//
// # Operations
//
// An entry with a write set, or with a part of one, has the encoded operations last. They may be
// large, so that they are not copied to encode the entry: the caller that gathers operations leaves
// HeadRoom bytes free in front of them, and EncodeInto puts the rest of the entry there. Decode
// copies nothing either: slices of the entry share the memory of its bytes.
package logentry
