package remote

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NoAnswer says that a node gave no answer. Whether it has done what was asked for is not known.
type NoAnswer struct {
	Node uint32
	Name string
	Err  error
}

func (e *NoAnswer) Error() string { return fmt.Sprintf("node %s does not answer: %v", e.Name, e.Err) }

// Unwrap gives what a client would see.
func (e *NoAnswer) Unwrap() error {
	return pgerr.New(pgerr.CannotConnectNow, "node %s does not answer", e.Name).WithDetail("%v", e.Err).WithHint("Try again in a moment.")
}
