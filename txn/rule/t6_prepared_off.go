//go:build sherd_no_t6_prepared

package rule

// T6Prepared is off.
const T6Prepared = false
