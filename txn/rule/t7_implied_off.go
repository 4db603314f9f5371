//go:build sherd_no_t7_implied

package rule

// T7Implied is off.
const T7Implied = false
