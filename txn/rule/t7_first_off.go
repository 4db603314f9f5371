//go:build sherd_no_t7_first

package rule

// T7First is off.
const T7First = false
