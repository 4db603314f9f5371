//go:build !sherd_no_t9

package rule

// T9Closed: a replica that does not lead serves no timestamp but one that is closed there.
const T9Closed = true
