//go:build sherd_no_t8_ceiling

package rule

// T8Ceiling is off.
const T8Ceiling = false
