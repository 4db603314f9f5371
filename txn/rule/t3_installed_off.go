//go:build sherd_no_t3_installed

package rule

// T3Installed is off.
const T3Installed = false
