package admin

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// transactions has the functions that resolve transactions.
var transactions = []Function{
	{OID: 8022, Signature: "resolve_transaction(text, text) RETURNS void", Call: void(resolveTransaction)},
}

// resolveTransaction applies an operator's decision, commit or abort, to a transaction that stays
// undecided. It is for superusers, because a commit may differ from what the lost coordinator fragment
// had decided.
func resolveTransaction(e *Environment, a []types.Datum) error {
	name, decision := a[0].S, a[1].S
	if !e.subject().Superuser() {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function resolve_transaction").
			WithHint("Only superusers may resolve transactions.")
	}
	id, err := txn.ParseID(name)
	if err != nil {
		return err
	}
	var outcome txn.Outcome
	switch strings.ToLower(decision) {
	case "commit":
		outcome = txn.Committed
	case "abort":
		outcome = txn.Aborted
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "a transaction is resolved by \"commit\" or \"abort\", not %q",
			decision)
	}
	if e.Context == nil {
		return pgerr.Unsupported("sherd.resolve_transaction() cannot run here")
	}
	return e.Fragments.ResolveTransaction(e.Context, e.Names.Database.OID, id, outcome)
}
