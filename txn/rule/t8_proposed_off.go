//go:build sherd_no_t8_proposed

package rule

// T8Proposed is off.
const T8Proposed = false
