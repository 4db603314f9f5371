package session

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/proof"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
)

// info is the session as functions see it.
type info struct {
	objects
	ctx context.Context // of the statement; nil outside of any
}

// statement returns the context of the statement, or one that never ends if there is no statement.
func (i info) statement() context.Context { return orBackground(i.ctx) }

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

var _ builtin.SessionInfo = info{}

// Run implements builtin.Gateway.
func (i info) Run(c *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error) {
	if p.Language != "" {
		return caller{i.Session}.call(c, p, args, nil)
	}
	return admin.Run(i.environment(c), p, args)
}

// RunTable implements builtin.Gateway.
func (i info) RunTable(
	c *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum, emit func(row []types.Datum) error,
) error {
	if p.Language != "" {
		_, err := caller{i.Session}.call(c, p, args, emit)
		return err
	}
	return admin.RunTable(i.environment(c), p, args, emit)
}

// environment returns what functions of the cluster need from the session and the call.
func (i info) environment(c *builtin.Ctx) *admin.Environment {
	application, _ := i.vars.Get("application_name")
	e := &admin.Environment{
		Cluster: &i.node.Admin, Context: i.ctx, Names: i.names(), Role: i.role, Values: i.Env(),
		Application: application, Query: i.query,
		Notice: i.notice, NoticeNow: i.sayNow, Unused: i.notInUse,
		ArgTypes: c.ArgTypes, Variadic: c.Variadic,
		Definer: func() *ddl.Env {
			return i.definer(func(n *pgerr.Error) error {
				i.notice(n)
				return nil
			})
		},
		Executor: func() *stmt.Executor {
			x := i.executor(i.ctx)
			return &x
		},
		Prove: i.prove,
	}
	if i.block.Tx != nil {
		e.Tx = i.block.Tx.Tx
	}
	return e
}

// prove verifies foreign keys, former ids and split documents.
func (i info) prove(ctx context.Context, emit verify.Emit) error {
	defer func() {
		if i.block.Tx != nil { // sherd.txns shows the session's own transaction again
			i.activity.SetTransaction(i.block.Tx.Tx)
		}
	}()
	return proof.Run(ctx, &i.txEnv, i.executor(ctx), proof.Emit(emit))
}

func (i info) roleName() string {
	if r := i.block.View().Role(i.role); r != nil {
		return r.Name
	}
	return i.start.User
}

// CurrentUser implements builtin.IdentityInfo.
func (i info) CurrentUser() string { return i.roleName() }

// SessionUser implements builtin.IdentityInfo.
func (i info) SessionUser() string {
	if r := i.block.View().Role(i.identity.session(i.vars)); r != nil {
		return r.Name
	}
	return i.start.User
}

// CurrentDatabase implements builtin.IdentityInfo.
func (i info) CurrentDatabase() string { return i.names().Database.Name }

// CurrentSchemas implements builtin.IdentityInfo.
func (i info) CurrentSchemas(implicit bool) []string {
	list := i.names().Schemas()
	if !implicit {
		return catalog.WrittenPath(list)
	}
	if !slices.Contains(list, "pg_catalog") {
		list = slices.Insert(list, 0, "pg_catalog")
	}
	return list
}

// BackendPID implements builtin.IdentityInfo.
func (i info) BackendPID() int32 { return int32(i.start.PID) }

// TriggerDepth implements builtin.TransactionInfo.
func (i info) TriggerDepth() int { return i.calls.triggers }

// ServerVersion implements builtin.IdentityInfo.
func (i info) ServerVersion() string { return settings.Banner }

// ClientAddress implements builtin.IdentityInfo.
func (i info) ClientAddress() (host string, port int) { return monitor.SplitAddress(i.start.Remote) }

// ServerAddress implements builtin.IdentityInfo.
func (i info) ServerAddress() (host string, port int) { return monitor.SplitAddress(i.node.Address) }

// Setting implements builtin.SettingInfo.
func (i info) Setting(name string) (string, bool) {
	value, err := i.vars.Show(name)
	return value, err == nil
}

// SetSetting implements builtin.SettingInfo.
func (i info) SetSetting(name, value string, local bool) (string, error) {
	if err := i.settings.Assign(name, &value, local); err != nil {
		return "", err
	}
	return i.vars.Show(name)
}

// StartTime implements builtin.ActivityInfo.
func (i info) StartTime() time.Time { return i.node.Started }

// StatementTime implements builtin.ActivityInfo.
func (i info) StatementTime() time.Time { return i.queryAt }

// ReloadTime implements builtin.ActivityInfo.
func (i info) ReloadTime() time.Time { return i.node.Started }

// Query implements builtin.ActivityInfo.
func (i info) Query() string { return i.query }

// Random implements builtin.ActivityInfo.
func (i info) Random() float64 { return i.random.Float64() }

// SetSeed implements builtin.ActivityInfo.
func (i info) SetSeed(seed float64) {
	n := math.Float64bits(seed)
	i.random = rand.New(rand.NewPCG(n, ^n))
}
