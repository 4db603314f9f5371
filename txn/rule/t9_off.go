//go:build sherd_no_t9

package rule

// T9Closed is off.
const T9Closed = false
