// Package importer loads documents from files of JSON lines into a collection, over one connection
// to a server. It is what the command sherd import runs.
//
// It is a client: it speaks SQL, and never reads or writes what a server keeps on its disk.
//
// A batch is one transaction. The place in the file where the batch ends is kept in that
// transaction too, in the table sherd_import.progress, so an import that is resumed loads nothing
// twice.
package importer
