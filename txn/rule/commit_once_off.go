//go:build sherd_no_commit_once

package rule

// CommitOnce is off.
const CommitOnce = false
