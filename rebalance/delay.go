package rebalance

import (
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
)

const usuallySlow = 100 * time.Millisecond

// maxDelay is sherd.move_max_delay.
func maxDelay(view *catalog.View) time.Duration {
	if k := view.Cluster(); k != nil {
		if n, err := strconv.Atoi(k.Settings["sherd.move_max_delay"]); err == nil && n >= 0 {
			return time.Duration(n) * time.Millisecond
		}
	}
	return usuallySlow
}
