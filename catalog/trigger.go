package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/clusterversion"
)

// TriggersSince is the version of the cluster from which there are triggers (View.Knows).
const TriggersSince = clusterversion.Triggers

// TriggerEvents says when a trigger fires: bits of pg_trigger.tgtype.
type TriggerEvents uint16

// The bits of TriggerEvents. A trigger without TriggerRow fires once for each statement, one without
// TriggerBefore and TriggerInstead after its event.
const (
	TriggerRow      TriggerEvents = 1 << 0
	TriggerBefore   TriggerEvents = 1 << 1
	TriggerInsert   TriggerEvents = 1 << 2
	TriggerDelete   TriggerEvents = 1 << 3
	TriggerUpdate   TriggerEvents = 1 << 4
	TriggerTruncate TriggerEvents = 1 << 5
	TriggerInstead  TriggerEvents = 1 << 6

	// TriggerTiming are the bits of the time; none of them: AFTER.
	TriggerTiming = TriggerBefore | TriggerInstead
)

// Trigger is a trigger of a table or view.
type Trigger struct {
	OID       OID
	Name      string // unique among those of its table
	Function  OID
	Events    TriggerEvents
	Columns   []int16 // of UPDATE OF; empty: all
	Arguments []string
	When      string // SQL text of a condition over the rows old and new, "" if there is none
	// OldTable and NewTable are the names of transition tables, "" if there is none.
	OldTable, NewTable string
	Enabled            byte // pg_trigger.tgenabled: 'O', 'D', 'R' or 'A'
	Constraint         OID  // of a constraint trigger, 0 for others
	Referenced         OID  // the table that a constraint trigger names in FROM, 0 if there is none
	Deferrable         bool
	InitiallyDeferred  bool
	Comment            string
}

// Is reports whether all of some bits are set.
func (x *Trigger) Is(bits TriggerEvents) bool { return x.Events&bits == bits }

// Timing returns TriggerBefore, TriggerInstead, or 0 for AFTER.
func (x *Trigger) Timing() TriggerEvents { return x.Events & TriggerTiming }

// AsConstraint returns a constraint trigger as a constraint, for when it is checked.
func (x *Trigger) AsConstraint() *Constraint {
	return &Constraint{
		OID: x.Constraint, Name: x.Name, Kind: TriggerConstraint, Deferrable: x.Deferrable,
		InitiallyDeferred: x.InitiallyDeferred, Valid: true,
	}
}

func cloneTriggers(list []Trigger) []Trigger {
	out := slices.Clone(list)
	for i := range out {
		out[i].Columns, out[i].Arguments = slices.Clone(out[i].Columns), slices.Clone(out[i].Arguments)
	}
	return out
}

// Trigger returns the table's trigger with a name, nil if there is none.
func (t *Table) Trigger(name string) *Trigger {
	i := slices.IndexFunc(t.Triggers, func(x Trigger) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Triggers[i]
}

// checkTriggers checks the triggers of a table without looking at other objects.
func checkTriggers(t *Table) error {
	last, names := OID(0), map[string]bool{}
	for i := range t.Triggers {
		x := &t.Triggers[i]
		if err := errors.Join(checkName(x.Name), checkOID(x.Function)); err != nil {
			return err
		}
		events := x.Events &^ (TriggerRow | TriggerTiming)
		if x.OID <= last || names[x.Name] || events == 0 || x.Is(TriggerTiming) {
			return fmt.Errorf("trigger %q with OID %d and events %b after %d", x.Name, x.OID, x.Events, last)
		}
		if !strings.ContainsRune("ODRA", rune(x.Enabled)) {
			return fmt.Errorf("trigger %q is enabled as %q", x.Name, rune(x.Enabled))
		}
		last, names[x.Name] = x.OID, true
		for _, n := range x.Columns {
			if err := t.checkAttNum(n, false); err != nil {
				return fmt.Errorf("trigger %q: %w", x.Name, err)
			}
		}
	}
	return nil
}

func encodeTriggers(list []Trigger) (out []*pb.Trigger) {
	for i := range list {
		x := &list[i]
		out = append(out, &pb.Trigger{
			Oid: x.OID, Name: x.Name, Function: x.Function, Events: uint32(x.Events), Columns: encodeAttNums(x.Columns),
			Arguments: x.Arguments, Condition: x.When, OldTable: x.OldTable, NewTable: x.NewTable,
			Enabled: uint32(x.Enabled), Constraint: x.Constraint, Referenced: x.Referenced, Deferrable: x.Deferrable,
			InitiallyDeferred: x.InitiallyDeferred, Comment: x.Comment,
		})
	}
	return out
}

func (d *attNumDecoder) triggers(list []*pb.Trigger) (out []Trigger) {
	for _, p := range list {
		out = append(out, Trigger{
			OID: p.GetOid(), Name: p.GetName(), Function: p.GetFunction(), Events: TriggerEvents(p.GetEvents()),
			Columns: d.nums(p.GetColumns()), Arguments: p.GetArguments(), When: p.GetCondition(),
			OldTable: p.GetOldTable(), NewTable: p.GetNewTable(), Enabled: byte(p.GetEnabled()),
			Constraint: p.GetConstraint(), Referenced: p.GetReferenced(), Deferrable: p.GetDeferrable(),
			InitiallyDeferred: p.GetInitiallyDeferred(), Comment: p.GetComment(),
		})
	}
	return out
}
