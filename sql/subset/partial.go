package subset

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// Partial returns how a statement does without fragments that cannot be reached; nil means that it
// cannot, and that such a fragment is an error. If the statement writes, locks, sets a sequence or
// changes definitions by what it reads, it must read everything. So must reads that hold for more
// than the statement: those of a REPEATABLE READ or SERIALIZABLE transaction, and those of a
// cursor's snapshot, for which at is not 0.
func (r *Reader) Partial(t *tx.Tx, p *stmt.Program, at txn.Timestamp) *exec.Partial {
	if !r.Settings.On(settings.AllowPartial) || !p.Exec.Reads() || keepsWhatItReads(p) || at != 0 || t.OneSnapshot() ||
		t.Modes.Isolation() == txn.Serializable {
		return nil
	}
	return &exec.Partial{
		Snapshot: t.SnapshotReachable, Warn: func(missing []exec.Missing) { r.warnMissing(t, missing) },
	}
}

// warnMissing tells the client which fragments are missing in an answer.
func (r *Reader) warnMissing(t *tx.Tx, missing []exec.Missing) {
	var names, details []string
	for _, m := range missing {
		names = append(names, t.FragmentName(m.Fragment))
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
	e = e.WithDetail("%s", strings.Join(details, "\n")).
		WithHint("Start the nodes that are missing. SET %s = off makes it an error.", settings.AllowPartial)
	e.Severity = "WARNING"
	r.Warn(e)
}
