//go:build !sherd_no_t7_forget

package rule

// T7Forget: a commit is forgotten only after each of its writers has applied its resolution.
const T7Forget = true
