//go:build sherd_no_t7_bar

package rule

// T7Bar is off.
const T7Bar = false
