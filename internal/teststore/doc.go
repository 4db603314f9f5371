// Package teststore opens the fragments of one node for tests, without a client port or other nodes.
package teststore
