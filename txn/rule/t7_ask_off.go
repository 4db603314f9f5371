//go:build sherd_no_t7_ask

package rule

// T7Ask is off.
const T7Ask = false
