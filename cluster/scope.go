package cluster

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
)

// Bound refuses, from now on, writes that make the transaction wider than scope; 25000 if it is
// wider already.
func (t *Transaction) Bound(scope exec.Scope) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scope = scope
	return t.checkScope()
}

// checkScope is called with mu held.
func (t *Transaction) checkScope() error {
	if t.scope == exec.ScopeCluster {
		return nil
	}
	fragments, buckets := 0, 0
	for _, p := range t.parts {
		if n := p.width(); n > 0 {
			fragments++
			buckets += n
		}
	}
	what := "bucket"
	switch {
	case t.scope == exec.ScopeFragment && fragments <= 1 || t.scope == exec.ScopeBucket && buckets <= 1:
		return nil
	case t.scope == exec.ScopeFragment:
		what = "fragment"
	}
	return pgerr.New(pgerr.InvalidTransactionState, "transaction writes to more than one %s", what).
		WithDetail("sherd.txn_scope is %q.", what).
		WithHint("Keep the documents of a transaction together, as by anchors or a policy, or SET sherd.txn_scope = 'cluster'.")
}
