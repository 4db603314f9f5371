//go:build !linux

package raftgroup

import "os"

func syncData(f *os.File) error { return f.Sync() }
