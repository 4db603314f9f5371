//go:build sherd_no_t1

package rule

// T1Order is off.
const T1Order = false
