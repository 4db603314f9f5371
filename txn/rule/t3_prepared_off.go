//go:build sherd_no_t3_prepared

package rule

// T3Prepared is off.
const T3Prepared = false
