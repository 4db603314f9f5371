package ddl

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// topology is the part of CREATE DATABASE about fragments. Zero values mean: as in the database
// postgres.
type topology struct {
	fragments   int
	replication int
	ranges      []ordinalRange
	labels      shardmap.LabelRule
}

// ordinalRange assigns buckets to the n-th fragment.
type ordinalRange struct {
	shardmap.Interval
	ordinal int
}

const (
	// defaultFragments is the number of fragments if the database postgres was dropped.
	defaultFragments = 3
	// maxFragments is the limit for a database: each fragment is a Raft group with its own LSM
	// tree.
	maxFragments = 1024
)

// read takes one of the options FRAGMENTS, REPLICATION_FACTOR, RANGES and LABELS.
func (t *topology) read(e *pg_query.DefElem, pos int) (err error) {
	text := optionText(e.Arg)
	switch e.Defname {
	case "fragments":
		t.fragments, err = count(e.Defname, text, maxFragments)
	case "replication_factor":
		t.replication, err = count(e.Defname, text, catalog.MaxReplicationFactor)
	case "ranges":
		t.ranges, err = readRanges(text)
	case "labels":
		t.labels, err = shardmap.ParseLabelRule(text)
	}
	if e := pgerr.From(err); err != nil {
		return e.At(pos)
	}
	return nil
}

func count(option, text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, pgerr.New(pgerr.InvalidParameterValue, `invalid value for option "%s": "%s"`, option, text).
			WithDetail("It is a number from 1 to %d.", most)
	}
	return n, nil
}

// rangeForm matches one range of RANGES: the fragment's ordinal, which may be absent, and the
// half-open interval, as 0-349525 or as [0,349525).
var rangeForm = regexp.MustCompile(
	`^\s*,?\s*(?:([0-9]{1,7})\s*:\s*)?(?:` +
		`\[\s*([0-9]{1,7})\s*,\s*([0-9]{1,7})\s*\)|([0-9]{1,7})\s*-\s*([0-9]{1,7})(?:\s|,|$))`)

// readRanges parses '0-500000,500000-1048576' and '[0,500000) [500000,1048576)': the n-th range
// belongs to the n-th fragment, unless each range names its fragment, as in '0:0-100, 1:100-200,
// 0:200-1048576'. The end of a range is exclusive in both forms.
func readRanges(text string) ([]ordinalRange, error) {
	var out []ordinalRange
	rest := text
	for strings.TrimSpace(rest) != "" {
		m := rangeForm.FindStringSubmatch(rest)
		if m == nil || len(out) > 0 && (m[1] == "") != !out[0].named() {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `invalid value for option "ranges": "%s"`, text).
				WithHint("Write ranges of buckets as '0-500000,500000-1048576', one for each fragment, the end not " +
					"included, or '0:0-100,1:100-1048576'.")
		}
		rest = rest[len(m[0]):]
		lo, _ := strconv.ParseUint(m[2]+m[4], 10, 32) // at most seven digits match
		hi, _ := strconv.ParseUint(m[3]+m[5], 10, 32)
		r := ordinalRange{shardmap.Interval{Lo: uint32(lo), Hi: uint32(hi)}, -len(out) - 1}
		if m[1] != "" {
			r.ordinal, _ = strconv.Atoi(m[1])
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, `option "ranges" names no range`)
	}
	return out, nil
}

// named reports whether the range names its fragment.
func (r ordinalRange) named() bool { return r.ordinal >= 0 }

// owner returns the ordinal of the range's fragment.
func (r ordinalRange) owner() int {
	if r.named() {
		return r.ordinal
	}
	return -r.ordinal - 1
}

// check returns an error if RANGES does not agree with FRAGMENTS or does not cover all buckets.
func (t *topology) check() error {
	if t.ranges == nil {
		return nil
	}
	owned := map[int]bool{}
	most := 0
	for _, r := range t.ranges {
		owned[r.owner()] = true
		most = max(most, r.owner()+1)
	}
	if t.fragments == 0 {
		t.fragments = most
	}
	if most > maxFragments || most != t.fragments || len(owned) != most {
		return pgerr.New(pgerr.InvalidParameterValue, "ranges are for other fragments than the database has").
			WithDetail("There are %d fragments, numbered from 0, and ranges for %d, the last of them number %d.",
				t.fragments, len(owned), most-1)
	}
	ids := make([]shardmap.FragmentID, most)
	for i := range ids {
		ids[i] = shardmap.FragmentID(i + 1)
	}
	_, err := t.bucketMap(ids)
	return err
}

// bucketMap returns the first bucket map of a database.
func (t *topology) bucketMap(ids []shardmap.FragmentID) (*shardmap.Map, error) {
	if t.ranges == nil {
		return shardmap.NewInitialMap(ids), nil
	}
	var rs []shardmap.Range
	for _, r := range t.ranges {
		rs = append(rs, shardmap.Range{Interval: r.Interval, Fragment: ids[r.owner()]})
	}
	m, err := shardmap.NewMap(1, rs)
	if err != nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "ranges do not cover the buckets exactly once").
			WithDetail("%s.", strings.TrimPrefix(err.Error(), "bucket map: ")).
			WithHint("The buckets are [0,%d).", shardmap.BucketCount)
	}
	return m, nil
}

// placeFragments creates the fragments of a new database; values absent from t are taken from the
// database postgres.
func (c *change) placeFragments(d *catalog.Database, t topology) error {
	d.ReplicationFactor, d.Labels = t.replication, t.labels
	n := t.fragments
	if p := c.view.Database(catalog.PostgresDB); p != nil {
		if n == 0 {
			n = len(p.Fragments)
		}
		if d.ReplicationFactor == 0 {
			d.ReplicationFactor = p.ReplicationFactor
		}
	}
	if n == 0 {
		n = defaultFragments
	}
	if d.ReplicationFactor == 0 {
		d.ReplicationFactor = catalog.DefaultReplicationFactor
	}
	ids, err := c.Catalog.NewFragmentIDs(c.ctx, n)
	if err != nil {
		return err
	}
	if d.Map, err = t.bucketMap(ids); err != nil {
		return err
	}
	sites, sets := c.sites(), c.view.ReplicaSets()
	for i, id := range ids {
		f := catalog.Fragment{ID: id, Ordinal: i, Nodes: shardmap.FirstPlacement(sites, sets, d.ReplicationFactor,
			d.Labels)}
		if len(f.Nodes) == 0 {
			return catalog.NoNode(d.Labels)
		}
		f.Joining = f.Nodes[1:] // the first node starts the fragment and adds the others
		d.Fragments = append(d.Fragments, f)
		sets = append(sets, shardmap.ReplicaSet{Fragment: id, Nodes: f.Nodes})
	}
	if t.replication > 0 {
		c.noticeReplicas(d)
	}
	c.notices = append(c.notices, c.view.Shortages(d, "")...)
	return nil
}

// sites returns the nodes for the placement of replicas.
func (c *change) sites() []shardmap.Site {
	sites := c.view.Sites()
	for i := range sites {
		sites[i].Silent = c.Silent != nil && c.Silent(sites[i].ID)
	}
	return sites
}

// nodes returns the nodes that may hold fragments.
func (c *change) nodes() (ids []uint32) {
	for n := range c.view.Nodes() {
		if n.HoldsFragments() {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// noticeReplicas adds a notice about a replication factor that cannot be met yet.
func (c *change) noticeReplicas(d *catalog.Database) {
	if have := len(c.nodes()); have < d.ReplicationFactor {
		c.notices = append(c.notices, &pgerr.Error{
			Severity: "NOTICE", Code: pgerr.SuccessfulCompletion,
			Message: fmt.Sprintf("database \"%s\" shall have %d replicas of each fragment, and the nodes are %d",
				d.Name, d.ReplicationFactor, have),
			Detail: "The replication factor is met as nodes join; sherd.fragments shows the progress.",
		})
	}
}

// alterFragments is ALTER DATABASE … FRAGMENTS n. New fragments get their share of the buckets by a
// plan that runs in the background. If there are fewer, the last fragments move their buckets to
// the others and are dropped. done is false for other statements.
func (r *runner) alterFragments(n *pg_query.AlterDatabaseStmt) (done bool, err error) {
	i := slices.IndexFunc(n.Options, func(o *pg_query.Node) bool { return o.GetDefElem().GetDefname() == "fragments" })
	if i < 0 {
		return false, nil
	}
	e := n.Options[i].GetDefElem()
	if len(n.Options) > 1 {
		return true, pgerr.Unsupported("FRAGMENTS cannot be changed together with other options").
			WithHint("Change one option with each ALTER DATABASE.")
	}
	var t topology
	if err := t.read(e, r.pos(e.Location)); err != nil {
		return true, err
	}
	return true, r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		return c.resize(d, t.fragments)
	})
}

// resize changes the number of a database's fragments to n.
func (c *change) resize(d *catalog.Database, n int) error {
	var staying []catalog.Fragment
	for _, f := range d.Fragments {
		if !f.Draining {
			staying = append(staying, f)
		}
	}
	if len(staying) == n {
		return nil
	}
	a := catalog.Author{Who: c.me.Name, Why: fmt.Sprintf("ALTER DATABASE %s FRAGMENTS %d", d.Name, n),
		Micros: time.Now().UnixMicro()}
	if n > len(staying) {
		return c.grow(d, n-len(staying), a)
	}
	slices.SortFunc(staying, func(x, y catalog.Fragment) int { return y.Ordinal - x.Ordinal })
	for _, f := range staying[:len(staying)-n] {
		id, err := c.Catalog.NewJobID(c.ctx)
		if err != nil {
			return err
		}
		if err := c.ch.RemoveFragment(id, d.OID, f.ID, a); err != nil {
			return err
		}
	}
	c.notifyWork("the buckets of %d fragments of database \"%s\" move to the others, then these fragments go",
		len(staying)-n, d.Name)
	return nil
}

// grow adds fragments and a plan that fills them.
func (c *change) grow(d *catalog.Database, more int, a catalog.Author) error {
	ids, err := c.Catalog.NewFragmentIDs(c.ctx, more)
	if err != nil {
		return err
	}
	grown := d.Clone()
	sites, sets := c.sites(), c.view.ReplicaSets()
	ordinal := 0
	for _, f := range d.Fragments {
		ordinal = max(ordinal, f.Ordinal+1)
	}
	for i, id := range ids {
		nodes := shardmap.FirstPlacement(sites, sets, d.ReplicationFactor, d.Labels)
		if _, err := c.ch.AddFragment(d.OID, id, nodes, a); err != nil {
			return err
		}
		sets = append(sets, shardmap.ReplicaSet{Fragment: id, Nodes: nodes})
		grown.Fragments = append(grown.Fragments, catalog.Fragment{ID: id, Ordinal: ordinal + i, Nodes: nodes,
			Added: true})
	}
	plan, err := c.FillFragments(c.ctx, d, grown)
	if err != nil {
		return err
	}
	id, err := c.Catalog.NewJobID(c.ctx)
	if err != nil {
		return err
	}
	if err := c.ch.BeginPlan(id, d.OID, plan, a); err != nil {
		return err
	}
	c.notifyWork("plan %d moves buckets to the new fragments of database \"%s\"", id, d.Name)
	return nil
}

// notifyWork adds a notice about work that continues in the background.
func (c *change) notifyWork(format string, args ...any) {
	c.notices = append(c.notices, &pgerr.Error{
		Severity: "NOTICE", Code: pgerr.SuccessfulCompletion, Message: fmt.Sprintf(format, args...),
		Detail: "sherd.plans shows its progress, as do sherd.moves and sherd.jobs in that database.",
	})
}

// alterLabels is ALTER DATABASE … LABELS 'region=eu': the replicas move, one at a time, to nodes
// that have the labels. done is false for other statements.
func (r *runner) alterLabels(n *pg_query.AlterDatabaseStmt) (done bool, err error) {
	i := slices.IndexFunc(n.Options, func(o *pg_query.Node) bool { return o.GetDefElem().GetDefname() == "labels" })
	if i < 0 {
		return false, nil
	}
	e := n.Options[i].GetDefElem()
	if len(n.Options) > 1 {
		return true, pgerr.Unsupported("LABELS cannot be changed together with other options").
			WithHint("Change one option with each ALTER DATABASE.")
	}
	var t topology
	if err := t.read(e, r.pos(e.Location)); err != nil {
		return true, err
	}
	return true, r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		a := catalog.Author{Who: c.me.Name, Why: "ALTER DATABASE " + d.Name + " LABELS", Micros: time.Now().UnixMicro()}
		if err := c.ch.SetLabels(d.OID, "", t.labels, a); err != nil {
			return err
		}
		d = d.Clone()
		d.Labels = t.labels
		c.notices = append(c.notices, c.view.Shortages(d, "")...)
		return nil
	})
}
