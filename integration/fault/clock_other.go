//go:build !(linux && amd64)

package fault

import (
	"errors"
	"time"
)

// SetClock cannot set a process's clock here.
func SetClock(int, time.Duration) error { return errors.ErrUnsupported }
