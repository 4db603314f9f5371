//go:build sherd_no_t8_held

package rule

// T8Held is off.
const T8Held = false
