// Package wire is the encoding of tasks, rows and results of the executor between nodes:
// bytes in fields of cluster/nodepb.
//
// Values are in their internal forms (types.Datum), which are those of rows on disk, so no value is
// formatted or parsed. A batch of rows has the kinds of its columns once; each row is a bitmap of
// its nulls followed by its values. Decoded values alias the message, like rows of a scan (E1): a
// row is valid until the next one, everything else as long as the message is unchanged.
//
// Decoders read bytes from nodes of this cluster, which may be damaged or of another release. They
// return 08P01, and never panic.
//
// The package opens no connection and knows no fragment; cluster/nodepb and sql/distexec send
// the messages. These encodings exist only in messages: changing one needs a new version of the
// node protocol (V4), and does not change a format on disk.
package wire
