//go:build !sherd_no_t9_applied

package rule

// T9Applied: what its leader has closed is closed at a replica once it has applied what was proposed before.
const T9Applied = true
