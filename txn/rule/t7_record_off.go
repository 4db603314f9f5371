//go:build sherd_no_t7_record

package rule

// T7Record is off.
const T7Record = false
