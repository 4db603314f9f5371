//go:build !sherd_no_t2

package rule

// T2Read: a read at T lifts promised to T before it is served, so that nobody commits below it afterwards.
const T2Read = true
