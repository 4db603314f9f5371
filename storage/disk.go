package storage

import (
	"syscall"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Badger writes through memory maps, and a page that finds no room on the disk ends the process (writeStall). Long before, writes of clients are
// refused while less is left than MinFree and what merges may take (merges.go); what settles or cleans up goes on. Half of MinFree is kept for transactions that
// only delete: they take little, and are how room comes back.
const (
	defaultMinFree = 256 << 20
	diskEvery      = 500 * time.Millisecond
)

// How much room is left.
const (
	roomForAll int32 = iota
	roomForDeletes
	noRoom
)

// watch looks at the disk until the replica is closed. It waits for no entry to be applied, unlike housekeeping: where
// level 0 is full and merges are held, entries are applied when watch has started merges again.
func (r *Replica) watch() {
	defer r.done.Done()
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-r.stop:
			return
		case now := <-t.C:
			r.watchDisk(now)
		}
	}
}

// watchDisk looks at the room left; called by watch.
func (r *Replica) watchDisk(now time.Time) {
	if now.Sub(r.diskSeen) < diskEvery {
		return
	}
	r.diskSeen = now
	free, err := r.cfg.free(r.cfg.Dir)
	if err != nil {
		return
	}
	r.stall.saw(free)
	r.watchMerges(free, now)
	left := roomForAll
	if least := r.minFree.Load(); free < least/2 || r.levelFull.Load() {
		left = noRoom
	} else if free < least+r.mergeNeed.Load() {
		left = roomForDeletes
	}
	if r.diskLeft.Swap(left) != left {
		r.cfg.Logger.Warn("disk space", "fragment", r.cfg.Fragment, "free", free, "writes refused", left != roomForAll, "deletes refused", left == noRoom)
	}
}

// freeOf returns how many bytes are free on the disk of a directory.
func freeOf(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// room refuses a client's write while the disk is full; deletes tells that it only deletes.
func (r *Replica) room(deletes bool) error {
	switch left := r.diskLeft.Load(); {
	case left == roomForAll, left == roomForDeletes && deletes:
		return nil
	case deletes:
		return pgerr.New(pgerr.DiskFull, "could not delete: no space left on device").
			WithDetail("Less than %d MB are free for %s.", max(r.cfg.MinFree/2, r.mergeNeed.Load()+mergeFloor)>>20, r.cfg.Name()).
			WithHint("Free disk space, or use TRUNCATE or DROP TABLE; the server continues by itself.")
	}
	return pgerr.New(pgerr.DiskFull, "could not write: no space left on device").
		WithDetail("Less than %d MB are free for %s.", (r.cfg.MinFree+r.mergeNeed.Load())>>20, r.cfg.Name()).
		WithHint("Free disk space, or DELETE rows; the server continues by itself.")
}
