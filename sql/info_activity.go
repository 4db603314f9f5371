package sql

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// warn keeps a warning for the client.
func (i info) warn(code, format string, args ...any) {
	i.notice(&pgerr.Error{Severity: "WARNING", Code: code, Message: fmt.Sprintf(format, args...)})
}
