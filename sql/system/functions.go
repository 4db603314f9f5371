package system

import (
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// functions answers the functions that ask for the session, such as those in the constraints of the
// tables that a worker writes. What only a client's session has is an error.
type functions struct {
	sysview.Objects
	builtin.Sessionless
	w *Worker
}

var _ builtin.SessionInfo = functions{}

func newFunctions(w *Worker) functions {
	return functions{Objects: sysview.Objects{Names: w.Names()}, w: w}
}

// Run implements builtin.Gateway.
func (f functions) Run(c *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error) {
	if f.w.node.Gateway == nil {
		return f.Sessionless.Run(c, p, args)
	}
	return f.w.node.Gateway(f.w).Run(c, p, args)
}

// CurrentUser implements builtin.IdentityInfo.
func (f functions) CurrentUser() string { return user }

// SessionUser implements builtin.IdentityInfo.
func (f functions) SessionUser() string { return user }

// CurrentDatabase implements builtin.IdentityInfo.
func (f functions) CurrentDatabase() string { return f.Database.Name }

// CurrentSchemas implements builtin.IdentityInfo.
func (f functions) CurrentSchemas(implicit bool) []string {
	list := f.Schemas()
	if implicit && !slices.Contains(list, "pg_catalog") {
		list = slices.Insert(list, 0, "pg_catalog")
	}
	return list
}

// BackendPID implements builtin.IdentityInfo.
func (f functions) BackendPID() int32 { return 0 }

// ServerVersion implements builtin.IdentityInfo.
func (f functions) ServerVersion() string { return settings.Banner }

// ClientAddress implements builtin.IdentityInfo.
func (f functions) ClientAddress() (host string, port int) { return "", 0 }

// ServerAddress implements builtin.IdentityInfo.
func (f functions) ServerAddress() (host string, port int) {
	return monitor.SplitAddress(f.w.node.Address)
}

// Setting implements builtin.SettingInfo.
func (f functions) Setting(name string) (string, bool) {
	value, err := f.w.settings.Show(name)
	return value, err == nil
}

// SetSetting implements builtin.SettingInfo.
func (functions) SetSetting(name, _ string, _ bool) (string, error) {
	return "", pgerr.Unsupported(`parameter "%s" cannot be set without a session`, name)
}

// StartTime implements builtin.ActivityInfo.
func (f functions) StartTime() time.Time { return f.w.node.Started }

// StatementTime implements builtin.ActivityInfo.
func (f functions) StatementTime() time.Time { return f.w.arrived }

// ReloadTime implements builtin.ActivityInfo.
func (f functions) ReloadTime() time.Time { return f.w.node.Started }

// Query implements builtin.ActivityInfo.
func (f functions) Query() string { return f.w.text }
