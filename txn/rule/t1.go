//go:build !sherd_no_t1

package rule

// T1Order: an entry whose stamp is not above all before it is rejected.
const T1Order = true
