//go:build sherd_no_t7_attempt

package rule

// T7Attempt is off.
const T7Attempt = false
