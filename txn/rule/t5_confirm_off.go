//go:build sherd_no_t5_confirm

package rule

// T5Confirm is off.
const T5Confirm = false
