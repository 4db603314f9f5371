// Package teststore opens the fragments of one node, or of three, for tests, without a client port.
package teststore
