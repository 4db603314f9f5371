package builtin

import (
	"math"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// sysLock has advisory locks, waits, and the functions that end statements and sessions of others.
var sysLock = advisoryFunctions(map[string]Func{
	"pg_advisory_unlock_all": advisoryUnlockAll,
	"pg_blocking_pids":       blockingPIDs,
	"pg_safe_snapshot_blocking_pids": func(*Ctx, []types.Datum) (types.Datum,
		error) {
		return types.NewList(types.Int4, nil), nil
	},
	"pg_isolation_test_session_is_blocked": isBlocked,
	"pg_cancel_backend":                    cancelBackend,
	"pg_terminate_backend":                 terminateBackend,
})

// AdvisoryKey is the key of an advisory lock: two halves of one number, or two numbers.
type AdvisoryKey struct {
	High, Low int32
	Pair      bool
}

// AdvisoryLock is a request for an advisory lock.
type AdvisoryLock struct {
	Key    AdvisoryKey
	Shared bool
	// until the end of the transaction; else until it is released, or the session ends
	Transaction bool
	Try         bool // do not wait
}

// advisoryFunctions adds the functions for both forms of keys to m.
func advisoryFunctions(m map[string]Func) map[string]Func {
	for _, form := range []string{"int8", "int4"} {
		for _, shared := range []string{"", "_shared"} {
			l := AdvisoryLock{Shared: shared != ""}
			m["pg_advisory_unlock"+shared+"_"+form] = advisoryUnlock(l.Shared)
			for _, level := range []string{"", "xact_"} {
				l.Transaction = level != ""
				l.Try = false
				m["pg_advisory_"+level+"lock"+shared+"_"+form] = advisoryLock(l)
				l.Try = true
				m["pg_try_advisory_"+level+"lock"+shared+"_"+form] = advisoryLock(l)
			}
		}
	}
	return m
}

func advisoryKey(a []types.Datum) AdvisoryKey {
	if len(a) == 2 {
		return AdvisoryKey{High: int32(a[0].N), Low: int32(a[1].N), Pair: true}
	}
	return AdvisoryKey{High: int32(a[0].N >> 32), Low: int32(a[0].N)}
}

func advisoryLock(l AdvisoryLock) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		l := l
		l.Key = advisoryKey(a)
		got, err := s.AdvisoryLock(l)
		if err != nil || !l.Try {
			return types.Datum{K: types.KindVoid}, err
		}
		return types.NewBool(got), nil
	}
}

func advisoryUnlock(shared bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return types.NewBool(s.AdvisoryUnlock(advisoryKey(a), shared)), nil
	}
}

func advisoryUnlockAll(c *Ctx, _ []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	s.AdvisoryUnlockAll()
	return types.Datum{K: types.KindVoid}, nil
}

func blockingPIDs(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	pids, err := s.BlockingPIDs(int32(a[0].N))
	if err != nil {
		return types.Null, err
	}
	list := make([]types.Datum, len(pids))
	for i, pid := range pids {
		list[i] = types.NewInt(int64(pid))
	}
	return types.NewList(types.Int4, list), nil
}

// isBlocked reports whether a backend waits for another; PostgreSQL's isolation tests use it.
func isBlocked(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	pids, err := s.BlockingPIDs(int32(a[0].N))
	if err != nil {
		return types.Null, err
	}
	others, err := types.ArrayOf(a[1])
	if err != nil {
		return types.Null, err
	}
	for i := range others.Len() {
		for _, pid := range pids {
			if others.At(i).N == int64(pid) {
				return types.NewBool(true), nil
			}
		}
	}
	return types.NewBool(false), nil
}

func cancelBackend(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	ok, err := s.CancelBackend(int32(a[0].N))
	return types.NewBool(ok), err
}

func terminateBackend(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	if a[1].N < 0 {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, `"timeout" must not be negative`)
	}
	timeout := time.Duration(min(a[1].N, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	ok, err := s.TerminateBackend(int32(a[0].N), timeout)
	return types.NewBool(ok), err
}
