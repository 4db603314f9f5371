//go:build sherd_no_t8_prepared

package rule

// T8Prepared is off.
const T8Prepared = false
