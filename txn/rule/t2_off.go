//go:build sherd_no_t2

package rule

// T2Read is off.
const T2Read = false
