//go:build sherd_no_t9_ceiling

package rule

// T9Ceiling is off.
const T9Ceiling = false
