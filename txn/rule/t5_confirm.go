//go:build !sherd_no_t5_confirm

package rule

// T5Confirm: a leader counts as such once a majority of the voters has taken a request that it sent after the question.
const T5Confirm = true
