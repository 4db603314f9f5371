package verify

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/txn"
)

// Additional findings of a check of a stopped node, which has only some of the fragments, and on
// which undecided transactions stay undecided.

// Elsewhere notes why a fragment is not read. That is not a fault.
func (c *Check) Elsewhere(fragment txn.FragmentID, why string) {
	c.Unread(fragment)
	c.finding(checkReplicas, c.fragmentName(fragment), "").said = NotChecked + why
}

// Damaged reports why a replica of a fragment cannot be read.
func (c *Check) Damaged(fragment txn.FragmentID, why string) {
	c.fault(checkStorage, c.fragmentName(fragment), "%s", why)
}

// NotCompared notes why the replicas of a fragment are not compared. That is not a fault.
func (c *Check) NotCompared(fragment txn.FragmentID, why string) {
	c.finding(checkReplicas, c.fragmentName(fragment), "").said = NotChecked + why
}

// Unread removes the findings about a fragment.
func (c *Check) Unread(fragment txn.FragmentID) {
	name := c.fragmentName(fragment)
	c.order = slices.DeleteFunc(c.order, func(k topic) bool {
		if k.subject != name || k.check != checkOwnership && k.check != checkTransactions && k.check != checkStorage ||
			len(c.findings[k].faults) > 0 {
			return false
		}
		delete(c.findings, k)
		return true
	})
}

// InDoubt notes that a transaction is undecided, and that the fragment is read without its writes.
func (c *Check) InDoubt(fragment txn.FragmentID, id txn.ID, at txn.Timestamp, coordinator txn.FragmentID) {
	f := c.finding(checkTransactions, c.fragmentName(fragment), "")
	f.said = "some are in doubt"
	where := c.fragmentName(coordinator)
	if coordinator == txn.CatalogFragment {
		where = "the catalog"
	}
	f.notes = append(f.notes,
		fmt.Sprintf("transaction %s, prepared at %s, is in doubt until the node runs: its outcome is known to %s; "+
			"it was left out here", id, at, where))
}

// PreparedTransactions notes how many prepared transactions a fragment has.
func (c *Check) PreparedTransactions(fragment txn.FragmentID, n int) {
	if n > 0 {
		f := c.finding(checkTransactions, c.fragmentName(fragment), "")
		f.notes = append(f.notes, fmt.Sprintf("%d held by PREPARE TRANSACTION, which is no fault", n))
	}
}

// Apart sets the reason why data of several fragments is not compared.
func (c *Check) Apart(why string) { c.apart = why }

// MayLag notes that the definitions may be older or newer than the stored data.
func (c *Check) MayLag() { c.lags = true }
