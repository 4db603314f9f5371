package kv

// DropUntilGone is for tests with fragments.
var DropUntilGone = dropUntilGone
