//go:build !linux

package raftlog

import "os"

func writeSynced(f *os.File, pieces [][]byte, off int64) error { return writeThenSync(f, pieces, off) }

func syncData(f *os.File) error { return f.Sync() }

func reserve(f *os.File, size int64) error { return f.Truncate(size) }

func roomFor(string, int64) bool { return true }
