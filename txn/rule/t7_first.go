//go:build !sherd_no_t7_first

package rule

// T7First: the writers are told of a commit when the anchor has decided, not before.
const T7First = true
