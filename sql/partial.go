package sql

import (
	"context"
	"maps"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// partialSetting lets statements that only read answer without fragments that cannot be reached.
const partialSetting = "sherd.allow_partial"

// partial says how a statement does without fragments that cannot be reached; nil: it does not, and they are an error. What
// writes or locks by what it reads is always whole. So is what must hold for more than the statement: the one snapshot of a
// REPEATABLE READ or SERIALIZABLE transaction, what a SERIALIZABLE statement has read, and a cursor's snapshot.
func (s *Session) partial(p *program, o opening) *exec.Partial {
	v, _ := s.vars.get(partialSetting)
	t := s.tx
	if v != "on" || !p.exec.Reads() || p.keepsWhatItReads() || o.at != 0 || t.oneSnapshot() || t.modes.isolation() == txn.Serializable {
		return nil
	}
	return &exec.Partial{Snapshot: t.reachable, Warn: s.warnMissing}
}

// reachable is snapshot of the fragments that can be reached, and says why the others cannot.
func (t *transaction) reachable(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, map[shardmap.FragmentID]error, error) {
	if err := t.goBackAsSet(); err != nil || t.t != 0 || t.near {
		if err != nil {
			return 0, nil, err
		}
		T, err := t.snapshot(ctx, shares)
		return T, nil, err
	}
	missing := map[shardmap.FragmentID]error{}
	T, err := t.currentBy(ctx, shares, func(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
		T, away, err := t.parts.SnapshotReachable(ctx, shares, epoch)
		maps.Copy(missing, away)
		return T, err
	})
	return T, missing, err
}

// warnMissing tells the client which fragments are missing in an answer.
func (s *Session) warnMissing(missing []exec.Missing) {
	var names, details []string
	for _, m := range missing {
		names = append(names, s.tx.nameOf(m.Fragment))
		e := pgerr.From(m.Err)
		if len(missing) == 1 {
			details = append(details, e.Detail)
		} else if e.Detail != "" {
			details = append(details, names[len(names)-1]+": "+e.Detail)
		}
	}
	var e *pgerr.Error
	if len(names) == 1 {
		e = pgerr.New(pgerr.Warning, "fragment %s does not answer: its rows are missing", names[0])
	} else {
		e = pgerr.New(pgerr.Warning, "fragments %s do not answer: their rows are missing", strings.Join(names, ", "))
	}
	e = e.WithDetail("%s", strings.Join(details, "\n")).WithHint("Start the nodes that are missing. SET %s = off makes it an error.", partialSetting)
	e.Severity = "WARNING"
	s.notice(e)
}
