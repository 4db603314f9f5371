// Package wire is the form in which tasks, rows, results and errors of the executor cross from node to node: bytes in fields of cluster/nodepb.
//
// Values are in their internal forms (types.Datum), which are those of rows on disk, so nothing is formatted or parsed. A batch of rows names the
// kinds of its columns once; each row is then a bitmap of its nulls and the values without anything between them. What a decoder gives aliases
// the message it was given, like rows of a scan (E1): rows are valid until the next one, all else as long as the message is left alone.
//
// Errors travel with all that the other side may ask of them: the fields of pgerr.Error, the values of those that txn and exec have types for.
//
// Decoders are for bytes of nodes of this cluster, which may be damaged or of another release: they answer 08P01, and never panic.
//
// The package opens no connection and knows no fragment; who sends what to whom is in cluster/nodepb and cluster/taskserver. These forms exist
// between nodes only, for as long as a message takes: a change of one is a new version of the node protocol (V4), not of a format on disk.
package wire
