//go:build sherd_no_t7_decide

package rule

// T7Decide is off.
const T7Decide = false
