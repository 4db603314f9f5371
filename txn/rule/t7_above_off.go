//go:build sherd_no_t7_above

package rule

// T7Above is off.
const T7Above = false
