//go:build sherd_no_t9_applied

package rule

// T9Applied is off.
const T9Applied = false
