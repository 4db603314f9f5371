// Package subset is reads of less than everything: of some fragments, by sherd.fragment, and of the
// fragments that can be reached, by sherd.allow_partial.
//
// Only the answer of a statement may depend on such a read. A statement that writes or locks rows by
// what it reads, sets a sequence or changes definitions reads everything, or is refused.
package subset
