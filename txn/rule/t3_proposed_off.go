//go:build sherd_no_t3_proposed

package rule

// T3Proposed is off.
const T3Proposed = false
