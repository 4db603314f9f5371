//go:build !sherd_no_t7_above

package rule

// T7Above: an abort is stamped above the C it refuses for ever.
const T7Above = true
