//go:build sherd_no_t8

package rule

// T8Validate is off.
const T8Validate = false
