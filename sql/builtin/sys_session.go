package builtin

import (
	"context"
	"crypto/rand"
	"math"
	randv2 "math/rand/v2"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// sysSession has the functions about user, connection and time.
var sysSession = map[string]Func{
	"pgsql_version":    sessionText(func(s SessionInfo) string { return s.ServerVersion() }),
	"current_database": sessionText(func(s SessionInfo) string { return s.CurrentDatabase() }),
	"current_user":     sessionText(func(s SessionInfo) string { return s.CurrentUser() }),
	"session_user":     sessionText(func(s SessionInfo) string { return s.SessionUser() }),
	"current_query":    sessionText(func(s SessionInfo) string { return s.Query() }),
	"current_schema":   currentSchema, "current_schemas": currentSchemas,
	"pg_backend_pid": onSession(func(s SessionInfo) (types.Datum,
		error) {
		return types.NewInt(int64(s.BackendPID())), nil
	}),
	"inet_client_addr":               address(func(s SessionInfo) (string, int) { return s.ClientAddress() }),
	"inet_server_addr":               address(func(s SessionInfo) (string, int) { return s.ServerAddress() }),
	"inet_client_port":               port(func(s SessionInfo) (string, int) { return s.ClientAddress() }),
	"inet_server_port":               port(func(s SessionInfo) (string, int) { return s.ServerAddress() }),
	"show_config_by_name":            currentSetting,
	"show_config_by_name_missing_ok": currentSetting,
	"set_config_by_name":             setConfig,
	"now": func(c *Ctx, _ []types.Datum) (types.Datum,
		error) {
		return types.NewTimestamp(c.now()), nil
	},
	"clock_timestamp": clockTimestamp,
	"statement_timestamp": onSession(func(s SessionInfo) (types.Datum,
		error) {
		return fromTime(s.StatementTime()), nil
	}),
	"pg_postmaster_start_time": onSession(func(s SessionInfo) (types.Datum,
		error) {
		return fromTime(s.StartTime()), nil
	}),
	"pg_conf_load_time": onSession(func(s SessionInfo) (types.Datum,
		error) {
		return fromTime(s.ReloadTime()), nil
	}),
	"timeofday": timeOfDay,
	"pg_sleep":  sleep, "pg_sleep_for(1186)": sleepFor, "pg_sleep_until(1184)": sleepUntil,
	"gen_random_uuid": randomUUID, "drandom": random, "setseed": setSeed,
	"pg_current_xact_id": transactionID(true), "pg_current_xact_id_if_assigned": transactionID(false),
	"pg_current_snapshot": onSession(func(s SessionInfo) (types.Datum, error) {
		return types.NewText(s.Snapshot()), nil
	}),
	"pg_is_in_recovery": alwaysFalse, "pg_is_wal_replay_paused": alwaysFalse, "pg_jit_available": alwaysFalse,
	"pg_my_temp_schema":       myTemporarySchema,
	"pg_is_other_temp_schema": alwaysFalse,
	"pg_trigger_depth": onSession(func(s SessionInfo) (types.Datum, error) {
		return types.NewInt(int64(s.TriggerDepth())), nil
	}),
}

func alwaysFalse(*Ctx, []types.Datum) (types.Datum, error) { return types.NewBool(false), nil }

// session returns the session, or an error if there is none.
func (c *Ctx) session() (SessionInfo, error) {
	if c.Session == nil {
		return nil, noSession()
	}
	return c.Session, nil
}

// onSession wraps a function without arguments that only reads the session.
func onSession(f func(SessionInfo) (types.Datum, error)) Func {
	return func(c *Ctx, _ []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return f(s)
	}
}

func sessionText(f func(SessionInfo) string) Func {
	return onSession(func(s SessionInfo) (types.Datum, error) { return types.NewText(f(s)), nil })
}

func currentSchema(c *Ctx, _ []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	if path := s.CurrentSchemas(false); len(path) > 0 {
		return types.NewText(path[0]), nil
	}
	return types.Null, nil
}

// myTemporarySchema returns the schema of the session's temporary objects, 0 if it has none.
func myTemporarySchema(c *Ctx, _ []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	oid, ok, err := s.FindObject(ObjSchema, "pg_temp")
	if err != nil || !ok {
		oid = 0
	}
	return types.NewOid(oid), nil
}

func currentSchemas(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	var names []types.Datum
	for _, name := range s.CurrentSchemas(a[0].Bool()) {
		names = append(names, types.NewText(name))
	}
	return types.NewList(types.Name, names), nil
}

// address returns the address of one end of the connection as inet text; null for a local socket.
func address(f func(SessionInfo) (string, int)) Func {
	return onSession(func(s SessionInfo) (types.Datum, error) {
		if host, _ := f(s); host != "" {
			return types.NewText(host), nil
		}
		return types.Null, nil
	})
}

func port(f func(SessionInfo) (string, int)) Func {
	return onSession(func(s SessionInfo) (types.Datum, error) {
		if host, n := f(s); host != "" {
			return types.NewInt(int64(n)), nil
		}
		return types.Null, nil
	})
}

func currentSetting(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	value, ok := s.Setting(a[0].S)
	switch {
	case ok:
		return types.NewText(value), nil
	case len(a) > 1 && a[1].Bool():
		return types.Null, nil
	}
	return types.Null, pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", a[0].S)
}

// setConfig is not strict; a null value sets the default.
func setConfig(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "SET requires parameter name")
	}
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	value, err := s.SetSetting(a[0].S, a[1].S, a[2].Bool())
	return types.NewText(value), err
}

func fromTime(t time.Time) types.Datum { return types.NewTimestamp(types.TimestampOf(t)) }

func clockTimestamp(*Ctx, []types.Datum) (types.Datum, error) { return fromTime(time.Now()), nil }

func timeOfDay(c *Ctx, _ []types.Datum) (types.Datum, error) {
	return types.NewText(time.Now().In(c.zone()).Format("Mon Jan 02 15:04:05.000000 2006 MST")), nil
}

func sleep(c *Ctx, a []types.Datum) (types.Datum, error) {
	seconds := a[0].Float()
	if !(seconds > 0) {
		return types.Datum{K: types.KindVoid}, nil
	}
	return c.wait(time.Duration(math.Min(seconds, 1e9) * float64(time.Second)))
}

func sleepFor(c *Ctx, a []types.Datum) (types.Datum, error) {
	until, err := types.TimestampAdd(types.TimestampOf(time.Now()), a[0], c.zone())
	if err != nil {
		return types.Null, err
	}
	return c.wait(time.Duration(until-types.TimestampOf(time.Now())) * time.Microsecond)
}

func sleepUntil(c *Ctx, a []types.Datum) (types.Datum, error) {
	return c.wait(time.Duration(a[0].N-types.TimestampOf(time.Now())) * time.Microsecond)
}

// wait sleeps for d, or until the statement is canceled.
func (c *Ctx) wait(d time.Duration) (types.Datum, error) {
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return types.Datum{K: types.KindVoid}, nil
	case <-ctx.Done():
		return types.Null, context.Cause(ctx)
	}
}

func randomUUID(*Ctx, []types.Datum) (types.Datum, error) {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return types.Datum{K: types.KindUUID, S: string(b[:])}, nil
}

func random(c *Ctx, _ []types.Datum) (types.Datum, error) {
	if c.Session != nil {
		return types.NewFloat8(c.Session.Random()), nil
	}
	return types.NewFloat8(randv2.Float64()), nil
}

func setSeed(c *Ctx, a []types.Datum) (types.Datum, error) {
	seed := a[0].Float()
	if !(seed >= -1 && seed <= 1) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "setseed parameter %s is out of allowed range [-1,1]",
			types.Output(types.Float8, a[0], c.Env))
	}
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	s.SetSeed(seed)
	return types.Datum{K: types.KindVoid}, nil
}

func transactionID(assign bool) Func {
	return onSession(func(s SessionInfo) (types.Datum, error) {
		id, ok, err := s.TransactionID(assign)
		if err != nil || !ok {
			return types.Null, err
		}
		return types.NewInt(int64(id)), nil
	})
}
