package storage

import (
	"errors"
	"syscall"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Badger writes through memory maps, and a page that finds no room on the disk ends the process. So writes of clients are
// refused while less than MinFree is left; what settles or cleans up goes on.
const (
	defaultMinFree = 256 << 20
	diskEvery      = 500 * time.Millisecond
)

// watchDisk looks at the room left; called by housekeeping.
func (r *Replica) watchDisk(now time.Time) {
	if now.Sub(r.diskSeen) < diskEvery {
		return
	}
	r.diskSeen = now
	var st syscall.Statfs_t
	if err := syscall.Statfs(r.cfg.Dir, &st); err != nil {
		return
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	full := free < r.minFree.Load()
	if r.diskFull.Swap(full) != full {
		r.cfg.Logger.Warn("disk space", "fragment", r.cfg.Fragment, "free", free, "writes refused", full)
	}
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// room refuses a client's write while the disk is full.
func (r *Replica) room() error {
	if !r.diskFull.Load() {
		return nil
	}
	return pgerr.New(pgerr.DiskFull, "could not write: no space left on device").
		WithDetail("Less than %d MB are free for fragment %d.", r.cfg.MinFree>>20, r.cfg.Fragment).
		WithHint("Free disk space; the server continues by itself.")
}
