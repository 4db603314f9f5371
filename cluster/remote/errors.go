package remote

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NoAnswer means that a node did not answer. Whether it has done what was asked is not known.
type NoAnswer struct {
	Node uint32
	Name string
	Err  error
}

func (e *NoAnswer) Error() string { return fmt.Sprintf("node %s does not answer: %v", e.Name, e.Err) }

// Unwrap returns the client's error.
func (e *NoAnswer) Unwrap() error {
	return pgerr.New(pgerr.CannotConnectNow, "node %s does not answer", e.Name).WithDetail("%v", e.Err).WithHint("Try again in a moment.")
}
