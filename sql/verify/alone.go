package verify

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/txn"
)

// What the check of a node that is stopped says besides: it has some of the fragments, and what is undecided stays so.

// Elsewhere says that a fragment is not read, which is no fault, and why.
func (c *Check) Elsewhere(fragment txn.FragmentID, why string) {
	c.Unread(fragment)
	c.finding(checkReplicas, c.fragmentName(fragment), "").said = NotChecked + why
}

// Damaged says what is wrong with a replica of a fragment, so that it cannot be read.
func (c *Check) Damaged(fragment txn.FragmentID, why string) {
	c.fault(checkStorage, c.fragmentName(fragment), "%s", why)
}

// NotCompared says why the replicas of a fragment are not compared, which is no fault.
func (c *Check) NotCompared(fragment txn.FragmentID, why string) {
	c.finding(checkReplicas, c.fragmentName(fragment), "").said = NotChecked + why
}

// Unread takes back that a fragment is reported about.
func (c *Check) Unread(fragment txn.FragmentID) {
	name := c.fragmentName(fragment)
	c.order = slices.DeleteFunc(c.order, func(k topic) bool {
		if k.subject != name || k.check != checkOwnership && k.check != checkTransactions && k.check != checkStorage || len(c.findings[k].faults) > 0 {
			return false
		}
		delete(c.findings, k)
		return true
	})
}

// InDoubt says that a transaction is undecided, and that the fragment is read as if it had not been.
func (c *Check) InDoubt(fragment txn.FragmentID, id txn.ID, at txn.Timestamp, anchor txn.FragmentID) {
	f := c.finding(checkTransactions, c.fragmentName(fragment), "")
	f.said = "some are in doubt"
	where := c.fragmentName(anchor)
	if anchor == txn.CatalogFragment {
		where = "the catalog"
	}
	f.notes = append(f.notes, fmt.Sprintf("transaction %s, prepared at %s, is in doubt until the node runs: its outcome is known to %s; it was left out here", id, at, where))
}

// Held says how many transactions PREPARE TRANSACTION has made that are held in a fragment.
func (c *Check) Held(fragment txn.FragmentID, n int) {
	if n > 0 {
		f := c.finding(checkTransactions, c.fragmentName(fragment), "")
		f.notes = append(f.notes, fmt.Sprintf("%d held by PREPARE TRANSACTION, which is no fault", n))
	}
}

// Apart says that what lies in several fragments is not compared, and why.
func (c *Check) Apart(why string) { c.apart = why }

// MayLag says that the definitions may be older or newer than what is stored.
func (c *Check) MayLag() { c.lags = true }
