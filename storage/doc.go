// Package storage keeps one replica of one fragment on this disk.
package storage
