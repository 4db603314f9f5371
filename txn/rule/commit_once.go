//go:build !sherd_no_commit_once

package rule

// CommitOnce: a commit entry carries the transaction's id and applies once.
const CommitOnce = true
