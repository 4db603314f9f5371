package kv

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Bound refuses, from now on, writes that make the transaction wider than scope; 25000 if it is
// wider already.
func (t *Transaction) Bound(scope txn.Scope) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scope = scope
	return t.checkScope()
}

// CheckScope refuses what the transaction has written if that is wider than its scope.
func (t *Transaction) CheckScope() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.checkScope()
}

// checkScope is called with mu held.
func (t *Transaction) checkScope() error {
	if t.scope == txn.ScopeCluster {
		return nil
	}
	fragments, buckets := 0, 0
	for _, p := range t.parts {
		if n := p.Width(); n > 0 {
			fragments++
			buckets += n
		}
	}
	what := "bucket"
	switch {
	case t.scope == txn.ScopeFragment && fragments <= 1 || t.scope == txn.ScopeBucket && buckets <= 1:
		return nil
	case t.scope == txn.ScopeFragment:
		what = "fragment"
	}
	return pgerr.New(pgerr.InvalidTransactionState, "transaction writes to more than one %s", what).
		WithDetail("sherd.txn_scope is %q.", what).
		WithHint("Keep the documents of a transaction together, as by anchors or a policy, " +
			"or SET sherd.txn_scope = 'cluster'.")
}
