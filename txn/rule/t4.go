//go:build !sherd_no_t4

package rule

// T4Ceiling: no read at T above the effective ceiling, and a new leader starts there.
const T4Ceiling = true
