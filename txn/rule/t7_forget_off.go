//go:build sherd_no_t7_forget

package rule

// T7Forget is off.
const T7Forget = false
