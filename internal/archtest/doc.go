// Package archtest keeps the shape of the tree: who may import whom, that every package says what it is, and that no file outgrows a reader.
package archtest
