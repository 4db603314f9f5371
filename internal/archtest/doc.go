// Package archtest keeps the shape of the tree: allowed imports, a comment for every package, and
// the size of files.
package archtest
