//go:build sherd_no_t2_floor

package rule

// T2Floor is off.
const T2Floor = false
