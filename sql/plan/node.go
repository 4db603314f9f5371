package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Node is a step of a plan. Its rows have one slot per Output column.
type Node interface {
	Output() []Col
	Children() []Node
}

// Col describes an output slot.
type Col struct {
	Name   string
	Type   types.OID
	Typmod int32
}

// Bind sets outer parameter Param to Expr, evaluated over the current row, before the inner plan
// runs.
type Bind struct {
	Param int
	Expr  query.Expr
}

// SubPlan is a subquery in an expression.
type SubPlan struct {
	query.T
	Kind  query.SubLinkKind
	Plan  Node
	Binds []Bind // empty: uncorrelated, runs once per statement
	// Test compares for SubAny, SubAll, SubRow: over query.SubColumn (the subquery's columns) and
	// the outer row's Slots.
	Test query.Expr
	// HashLeft is set if the subquery is uncorrelated. Of SubAny, Test is HashLeft = column (, …), and
	// exec may build a hash table once. Of SubExists, exec builds one: it is true if a row of the
	// subquery has the values of HashLeft, false if one of them is null.
	HashLeft []query.Expr
	Name     string // SubPlan 1
	Volatile bool   // it calls a volatile function
}

// Base holds the output columns; embedded by all nodes.
type Base struct{ Cols []Col }

// Output returns the columns.
func (b *Base) Output() []Col { return b.Cols }

// AccessKind is how a Scan finds its rows.
type AccessKind uint8

// Kinds of access.
const (
	ScanBuckets AccessKind = iota // all rows in the task's bucket ranges
	ScanKeys                      // point reads by primary key: Keys
	ScanOrdered                   // by the primary-key-order index, rows looked up by key: Lo, Hi or Span, Desc
	ScanIndex                     // by entries of a local index, in their order: Index
	ScanFound                     // rows that the Gather's route has found by a global index: Index
)

// Scan reads one table inside a fragment. Its row is the columns named by Slots (positions in
// Table.Columns), system columns included as negative numbers; only these are decoded.
type Scan struct {
	Base
	Table  *catalog.Table
	Alias  string
	Schema string
	Slots  []int
	Filter query.Expr // over the Slots; nil is none
	Access AccessKind
	// Keys are lists of primary key values for ScanKeys: each a tuple over Params and Outers;
	// KeyArray is one array of single-column keys.
	Keys     [][]query.Expr
	KeyArray query.Expr
	// Lo and Hi bound the first primary key column for ScanOrdered, if Span is nil; nil is open.
	Lo, Hi             query.Expr
	LoInc, HiInc, Desc bool
	Index              *IndexScan
	// Sums is what the parts of the table's split documents add to their counters, nil where none
	// of them may be met: jsonb, a list of [number of the document, sum of its first counter, …]. A
	// row that it names is changed before anything else sees it.
	Sums query.Expr
	// Span has the keys that are read by ScanOrdered, or, of a range table, bucket by bucket; nil:
	// whole buckets.
	Span *KeySpan
	// AnyOrder is set if rows may come in any order, and only the running statement has the bound of
	// the index. If that excludes nothing, buckets are read instead.
	AnyOrder bool
	// EntryAlone is set if entries of the index are read without their rows although they do not have
	// all Slots: the others are read by conditions alone that all of the entries meet. EntryFilter is
	// the rest of Filter.
	EntryAlone  bool
	EntryFilter query.Expr
	// KeyFilters are runtime filters by some slots: rows whose keys they do not have are left out.
	KeyFilters []KeyFilter
}

// KeyFilter is a runtime filter: the keys of one side of a join, by which scans of the other side
// leave out rows that the join would drop (package keyfilter). It is an outer parameter, set when
// the first side has been read; null has all keys.
type KeyFilter struct {
	Param int
	Keys  []int       // of a Scan: slots; of a HashJoin: positions of its keys
	Types []types.OID // by which the keys are encoded
}

// SystemScan reads a view of pg_catalog, information_schema or sherd; it runs at the gateway.
type SystemScan struct {
	Base
	Name   string // schema.name
	Alias  string
	Slots  []int
	Filter query.Expr
}

// FunctionScan is functions in FROM, their rows zipped.
type FunctionScan struct {
	Base
	Alias      string
	Functions  []query.FuncItem // Call's expressions read Outers only
	Ordinality bool
}

// Values is constant rows.
type Values struct {
	Base
	Rows [][]query.Expr // over Outers and Params; one row without columns is SELECT without FROM
}

// Filter keeps rows where Cond is true.
type Filter struct {
	Base
	Child Node
	Cond  query.Expr
}

// Project computes the output columns. Where Sets is true, some are set-returning calls, expanded
// in lock step as PostgreSQL's ProjectSet.
type Project struct {
	Base
	Child Node
	Exprs []query.Expr
	Sets  bool
}

// AggMode says which half of the aggregation runs.
type AggMode uint8

// Modes of Aggregate.
const (
	AggComplete AggMode = iota
	AggPartial          // in fragments: output is keys, then one partial state per aggregate
	AggFinal            // input is AggPartial's output
)

// Aggregate groups by Keys and computes Aggs. Output: keys, then aggregates, then (with several
// Sets) the grouping set's number as int4. Without Keys and with one empty set it returns exactly
// one row. Sorted: the rows of a group are neighbours, and groups are returned as they end.
type Aggregate struct {
	Base
	Child  Node
	Keys   []query.Expr
	Sets   [][]int // grouping sets as positions in Keys; nil is one set of all
	Aggs   []*query.Agg
	Mode   AggMode
	Sorted bool
}

// SortKey orders rows by a slot.
type SortKey struct {
	Slot       int
	Type       types.OID
	Desc       bool
	NullsFirst bool
}

// Sort orders rows; with Limit it keeps only the first ones (top-n). If rows come in the order of
// the first keys (Presorted), it sorts those that are equal in them, group by group, and ends with
// the group that completes Limit.
type Sort struct {
	Base
	Child     Node
	Keys      []SortKey
	Limit     query.Expr // int8; nil is none. Evaluated together with Offset: keeps Limit+Offset rows
	Offset    query.Expr
	Presorted int
}

// Limit passes on rows Offset … Offset+Count, and those behind them that are equal to the last one
// in Ties.
type Limit struct {
	Base
	Child         Node
	Count, Offset query.Expr // nil is none
	Ties          []SortKey  // rows come in their order; nil: none behind Offset+Count
}

// Distinct keeps the first row of each group of equal Keys (slots); nil Keys is all columns.
// Sorted: equal rows are neighbours.
type Distinct struct {
	Base
	Child  Node
	Keys   []int
	Sorted bool
}

// HashJoin joins by equality of keys; Left is the probe side, Right is built. Semi and Anti output
// left columns only, RightSemi and RightAnti right ones: right rows that meet a left one, or none.
type HashJoin struct {
	Base
	Kind        query.JoinKind
	Left, Right Node
	LeftKeys    []query.Expr // over the left row
	RightKeys   []query.Expr // over the right row
	KeyTypes    []types.OID  // by which the keys are hashed and compared
	NullsEqual  []bool       // IS NOT DISTINCT FROM
	On          query.Expr   // residual condition over left ++ right
	// KeyFilter is the runtime filter of the right rows, for scans of the left side; nil: there is none.
	KeyFilter *KeyFilter
}

// LookupJoin is a HashJoin in batches of left rows: Right reads the rows that have the values of the
// batch, by primary key or index. It keeps the order of the left rows.
type LookupJoin struct {
	Join   *HashJoin
	Values Bind // the batch's values of one key, as an array
}

// Output implements Node.
func (n *LookupJoin) Output() []Col { return n.Join.Output() }

// NestLoop runs Right once for each row of Left, after Binds; Right is materialised once where
// Binds is empty.
type NestLoop struct {
	Base
	Kind        query.JoinKind
	Left, Right Node
	Binds       []Bind
	On          query.Expr // over left ++ right
}

// SetOperation is UNION, INTERSECT, EXCEPT; UNION ALL is Append.
type SetOperation struct {
	Base
	Kind        query.SetOpKind
	All         bool
	Left, Right Node
}

// Append is all rows of all children in order.
type Append struct {
	Base
	Inputs []Node
}

// With materialises CTEs, then runs Child. CTEScan reads one by its number.
type With struct {
	Base
	CTEs  []CTEPlan
	Child Node
}

// CTEPlan is a materialised common table expression. A recursive one runs Plan, then Step until it
// returns no rows; Step reads the last rows by a CTEScan with Work set. Distinct drops duplicates
// (UNION without ALL).
type CTEPlan struct {
	ID       int
	Name     string
	Plan     Node
	Step     Node
	Distinct bool
}

// CTEScan reads a materialised CTE, or the work table of a recursive one.
type CTEScan struct {
	Base
	ID    int
	Alias string
	Work  bool
}

// Window computes window functions; output: the child's columns, then one per call. Rows come
// sorted by partition and order keys from exec itself.
type Window struct {
	Base
	Child Node
	Calls []*query.WindowCall
	Specs []query.Window
}

// Gather runs Child in every fragment that Route names and merges: by Merge keys where set, else in
// any order.
type Gather struct {
	Base
	Child Node
	Route Route
	Merge []SortKey
	// Batch is the Gather's number among the reads of a Batch, from 1; 0: it runs for one set of
	// outer values at a time. Its child is an Each then, and its own columns are those without the
	// number of the set.
	Batch int
}

// Batch passes on the rows of Child in batches. Before each one, Gathers in steps that run for
// each of its rows read what they need for all of them. It runs at the gateway.
type Batch struct {
	Base
	Child Node
	Reads []BatchRead
}

// BatchRead says for which outer values a Gather reads, given a row of a Batch.
type BatchRead struct {
	Gather int // Gather.Batch
	Binds  []Bind
	Need   query.Expr // the Gather may not run for rows for which it is not true; nil: it runs for all
}

// Each runs Child in a fragment for sets of outer values, and adds the number of the set to its rows,
// which come set by set.
type Each struct {
	Base
	Child  Node
	Params []int // the outer parameters of a set
	Sets   int   // the outer parameter that has all sets (package exec)
	Route  Route // of a set: no other buckets are read for it
}

// LockRows takes row locks on the rows of Child and passes on those that it has got. Below a Gather
// it locks in its own fragment; above one it sends the rows' keys to their fragments, in the order
// of the rows.
type LockRows struct {
	Base
	Child Node
	Locks []RowLock
	// Scan is set where a row's first slots are those of this scan of the one table that is locked:
	// a row that changed after the statement's snapshot can be read again and held against the
	// scan's filter. Elsewhere the statement has to run again.
	Scan *Scan
	// Rejoin is for rows whose Scan is nil, at the gateway, where the statement cannot be run
	// again; nil: it has to fail then.
	Rejoin *Rejoin
	// Most is how many rows are wanted, nil is all; with OneByOne it is not known in advance, but
	// may be few. No more are locked.
	Most     query.Expr
	OneByOne bool
}

// RowLock is the lock on one table's rows.
type RowLock struct {
	Table    *catalog.Table
	Key      int // the slot of the row's key
	Strength query.LockStrength
	Wait     query.LockWait
}

// ModifyKind is what a Modify does.
type ModifyKind uint8

// Kinds of Modify.
const (
	ModInsert ModifyKind = iota
	ModUpdate
	ModDelete
)

// Event returns the event of triggers that a Modify is for its rows.
func (k ModifyKind) Event() catalog.TriggerEvents {
	return [...]catalog.TriggerEvents{catalog.TriggerInsert, catalog.TriggerUpdate, catalog.TriggerDelete}[k]
}

// Modify writes rows of Table. Below a Gather it stages in its own fragment; above one it sends
// rows to the fragments of their keys.
//
// Insert: the child's row has one slot per column of Table.Columns (dropped ones null), constraints
// not yet checked, placement not yet done. Update: the child's row is the old row (all columns,
// then the columns of other tables); Assign is evaluated over it. Delete: the child's row is the
// old row likewise. Checks and Returning are evaluated over the new row (old for delete) followed
// by the child's slots beyond the table's columns.
type Modify struct {
	Base   // Returning's columns; empty without RETURNING (then it returns no rows, only the count)
	Kind   ModifyKind
	Table  *catalog.Table
	Schema string
	Child  Node
	// Scan is set where the rows of Child are those of this scan, read in parts: as in LockRows.
	Scan   *Scan
	Assign []query.Assignment
	Checks []query.Check
	Watch  []KeyWatch // what to note of the rows that are written
	// Indexes are the secondary indexes to maintain, over the table's columns as slots. An update
	// lists those that it may change.
	Indexes    []query.Index
	Returning  []query.Expr
	OnConflict *OnConflict
	MovesKey   bool // Assign sets a primary key column
	Triggers   RowTriggers
	Instead    bool // Table is a view, whose triggers write: they get the rows
}

// RowTriggers says for which events of rows a table has triggers: bits of catalog.TriggerEvents.
type RowTriggers struct {
	BeforeRow, AfterRow uint32
}

// Fires reports whether there are triggers before or after an event of a row.
func (t RowTriggers) Fires(e catalog.TriggerEvents) bool {
	return (t.BeforeRow|t.AfterRow)&uint32(e) != 0
}

// Changes reports whether triggers may change a row before an event.
func (t RowTriggers) Changes(e catalog.TriggerEvents) bool { return t.BeforeRow&uint32(e) != 0 }

// KeyWatch asks for the values of columns in the rows that a Modify writes, for a foreign key: Old
// ones of rows that go or change, else the new ones of rows that come or change. Rows in which they
// stay as they are do not count, nor do, but for Nulls, those with a null.
type KeyWatch struct {
	N       int   // its number in the statement, which may write several tables
	Columns []int // positions in Table.Columns
	Old     bool
	Nulls   bool // some nulls count, but not if all are
}

// OnConflict of an insert: expressions are over existing row ++ proposed row (EXCLUDED).
type OnConflict struct {
	// Primary: a row with the same primary key is a conflict; Arbiters, positions in
	// Modify.Indexes: one with the same entry there. Violations of other constraints are errors.
	Primary  bool
	Arbiters []int
	Update   bool
	Assign   []query.Assignment
	Where    query.Expr
	// Returns: the row that is there is returned under its lock, and the gateway updates it.
	Returns bool
}

// Children lists the inputs.
func (*Scan) Children() []Node           { return nil }
func (*SystemScan) Children() []Node     { return nil }
func (*FunctionScan) Children() []Node   { return nil }
func (*Values) Children() []Node         { return nil }
func (*CTEScan) Children() []Node        { return nil }
func (n *Filter) Children() []Node       { return []Node{n.Child} }
func (n *Project) Children() []Node      { return []Node{n.Child} }
func (n *Aggregate) Children() []Node    { return []Node{n.Child} }
func (n *Sort) Children() []Node         { return []Node{n.Child} }
func (n *Limit) Children() []Node        { return []Node{n.Child} }
func (n *Distinct) Children() []Node     { return []Node{n.Child} }
func (n *HashJoin) Children() []Node     { return []Node{n.Left, n.Right} }
func (n *LookupJoin) Children() []Node   { return n.Join.Children() }
func (n *NestLoop) Children() []Node     { return []Node{n.Left, n.Right} }
func (n *SetOperation) Children() []Node { return []Node{n.Left, n.Right} }
func (n *Append) Children() []Node       { return n.Inputs }
func (n *Window) Children() []Node       { return []Node{n.Child} }
func (n *Gather) Children() []Node       { return []Node{n.Child} }
func (n *Batch) Children() []Node        { return []Node{n.Child} }
func (n *Each) Children() []Node         { return []Node{n.Child} }
func (n *LockRows) Children() []Node     { return []Node{n.Child} }
func (n *Modify) Children() []Node       { return []Node{n.Child} }

// Children of With are the CTEs' plans and its child.
func (n *With) Children() []Node {
	var c []Node
	for _, p := range n.CTEs {
		c = append(c, p.Plan)
		if p.Step != nil {
			c = append(c, p.Step)
		}
	}
	return append(c, n.Child)
}

// Route says which buckets of a database a Gather (or a Modify) reaches. It is evaluated when the
// statement runs, from parameters and outer values; conditions intersect. A Route without
// conditions is every fragment.
type Route struct {
	Table *catalog.Table // whose keys and policy decide; nil where no table decides
	// Keys: the primary key equals one of these tuples. KeyArray: the (single) key column is in the
	// array.
	Keys     [][]query.Expr
	KeyArray query.Expr
	// Content: for each policy field, in policy order, the values it may have (each an Expr, or one
	// array Expr in ContentArray). A value of another type than the field's own is what the field's
	// text equals under a cast to that type.
	Content      [][]query.Expr
	ContentArray []query.Expr // parallel to Content: nil or an array expression
	ContentRange []FieldRange // parallel to Content, or empty: of a field under day, hour or month that has neither
	// Lo and Hi: sherd.bucket(id) >= Lo and < Hi (int4).
	Lo, Hi query.Expr
	// Index: the rows are those of a global index's entries, which are looked up first. The scan
	// whose Index it is reads just them.
	Index *IndexScan
	// Span: the primary key of a range table is in it.
	Span *KeySpan
	// Under: what rows are hashed by begins with one of these texts, each with UnderEnd behind it,
	// where the table has rules for prefixes.
	Under    []query.Expr
	UnderEnd string
	// UnderLike is a pattern that it matches, UnderFrom and UnderTo texts that it is between, which
	// only the running statement has: it begins with what all such texts begin with.
	UnderLike, UnderFrom, UnderTo query.Expr
	UnderToInc                    bool
	// Never: the condition cannot be true; no fragment is asked.
	Never bool
}

// FieldRange bounds an instant that a policy's field has, both ends or none; the types are as in
// Route.Content. From is inclusive.
type FieldRange struct {
	From, To query.Expr
	ToInc    bool
}

// byValues reports whether values of the policy's fields name the buckets. Those that a range names
// may hold many rows.
func (r *Route) byValues() bool { return len(r.Content) > 0 && len(r.ContentRange) == 0 }

// ByPrefix reports whether a condition is about what rows are hashed by begins with.
func (r *Route) ByPrefix() bool { return len(r.Under) > 0 || r.UnderLike != nil || r.UnderFrom != nil }

// Everywhere reports whether no condition narrows the route.
func (r *Route) Everywhere() bool {
	return len(r.Keys) == 0 && r.KeyArray == nil && len(r.Content) == 0 && r.Lo == nil && r.Hi == nil &&
		r.Index == nil && r.Span == nil && !r.ByPrefix() && !r.Never
}

// ColKey in Scan.Slots is the row's storage key (bytea), by which a Modify finds the row again.
const ColKey = query.ColKey

// The steps below stand in no plan that Build returns: package exec makes them, as the plans of
// tasks of its own. Stage, Find and LockKeys are compared by value, so that the same one is known
// again whichever execution has made it.

// Stage stages the writes of its task. With ON CONFLICT it emits a row for each: place, what was
// done, new row, what was there before, index.
type Stage struct {
	Modify *Modify // its table, checks, indexes and OnConflict count, its child does not
}

// Find looks up entries of a global index by the prefixes of its task, and emits the keys of their
// rows.
type Find struct{ Scan *IndexScan }

// LockKeys locks the rows whose keys are the writes of its task. It emits the place of each that it
// got, then the row if it changed.
type LockKeys struct {
	Lock RowLock
	Scan *Scan // as LockRows.Scan
}

// Fill puts a new index's entries of the rows that are there. It emits the entries that belong into
// other fragments, and at last the key of the last row.
type Fill struct {
	Table  *catalog.Table
	Schema string
	Index  query.Index
	After  []byte // the key of the last row that is done
	Limit  int    // rows; 0 is all
	Beside bool   // writers are at work: each row is locked and looked at again
}

// Output of a Stage is as its task has it, no columns of a plan.
func (Stage) Output() []Col { return nil }

// Output of a Find likewise.
func (Find) Output() []Col { return nil }

// Output of LockKeys likewise.
func (LockKeys) Output() []Col { return nil }

// Output of a Fill likewise.
func (*Fill) Output() []Col { return nil }

// Children of all four are none.
func (Stage) Children() []Node    { return nil }
func (Find) Children() []Node     { return nil }
func (LockKeys) Children() []Node { return nil }
func (*Fill) Children() []Node    { return nil }
