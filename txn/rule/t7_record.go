//go:build !sherd_no_t7_record

package rule

// T7Record: an anchor that has forgotten a commit looks for the record of its decision before it says that the transaction was aborted.
const T7Record = true
