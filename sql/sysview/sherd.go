package sysview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// sherdSources are the views of the schema sherd.
func sherdSources() map[string]source {
	return map[string]source{
		"bucket_map":      bucketMap,
		"fragments":       fragments,
		"buckets":         buckets,
		"policies":        policies,
		"collections":     collectionRows,
		"databases":       databases,
		"nodes":           nodes,
		"authorities":     authorities,
		"settings":        sherdSettings,
		"version":         sherdVersion,
		"locks":           locks,
		"txns":            transactions,
		"jobs":            jobs,
		"indexes":         indexRows,
		"replicas":        replicaRows,
		"hot_buckets":     hotBuckets,
		"hot_keys":        hotKeys,
		"forwarding_hits": forwardingHits,
		"offenders":       offenders,
		"plans":           plans,
		"plan_steps":      planSteps,
		"advice":          advice,
		"obese_buckets":   obeseBuckets,
		"segments":        segments,
		"hot_documents":   hotDocuments,
		"moves":           moves,
		"move_history":    moveHistory,
		"changelog":       changelog,
		"pins":            pins,
		"zones":           zones,
		"prefixes":        prefixes,
	}
}

func bucketMap(b *builder) error {
	d := b.env.Database
	for _, r := range d.Map.Ranges() {
		err := b.row().int("first_bucket", int64(r.Lo)).int("end_bucket", int64(r.Hi)).int("buckets", int64(r.Len())).
			text("fragment", b.env.fragmentName(r.Fragment)).int("epoch", int64(d.Map.Epoch())).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) fragmentName(id uint32) string {
	if f := e.Database.FragmentByID(id); f != nil {
		return e.Database.FragmentName(f)
	}
	return ""
}

// total sums the statistics that satisfy of.
func total(stats []Stat, of func(s *Stat) bool) (docs, bytes int64) {
	for i := range stats {
		if of == nil || of(&stats[i]) {
			docs += stats[i].Documents
			bytes += stats[i].Bytes
		}
	}
	return docs, bytes
}

func fragments(b *builder) error {
	d := b.env.Database
	stats, missing, err := b.env.counted(d, 0)
	if err != nil {
		return err
	}
	replicas := b.env.Replicas()
	for i := range d.Fragments {
		f := &d.Fragments[i]
		docs, bytes := total(stats, func(s *Stat) bool { return s.Fragment == f.ID })
		names := b.env.nodeNames(f.Nodes)
		owned := d.Map.Owned(f.ID)
		leader, state := b.env.fragmentHealth(f, replicas)
		r := b.row().text("fragment", d.FragmentName(f)).int("ordinal", int64(f.Ordinal)).texts("nodes", names).
			int("buckets", int64(owned.Len())).int("replication_factor", int64(d.Factor(f))).
			texts("placed_on", b.env.nodeNames(f.On)).text("state", state).optional("leader", leader).
			optional("labels", d.RuleOf(f).String())
		if !missing[f.ID] {
			r.int("documents", docs).int("bytes", bytes)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// replicaState reports whether a fragment has as many live replicas as required.
func replicaState(have, want int) string {
	if have < want {
		return fmt.Sprintf("serving, %d of %d replicas", have, want)
	}
	return "serving"
}

func (e *Env) nodeNames(ids []uint32) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if n := e.View.Node(id); n != nil {
			out = append(out, n.Name)
		}
	}
	return out
}

func policies(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		if t.Policy == nil {
			return nil
		}
		fields := make([]string, len(t.Policy.Fields))
		for i, f := range t.Policy.Fields {
			fields[i] = f.String()
		}
		return b.row().oid("collection", t.OID).texts("fields", fields).int("range", int64(t.Policy.Range)).
			bool("mutable", t.Policy.Mutable).bool("validated", t.PolicyValidated).json("definition", t.Policy.JSON()).
			send()
	})
}

// json sets a jsonb value.
func (r *record) json(column, text string) *record {
	d, err := types.Input(types.JSONB, -1, text, nil)
	if err != nil {
		panic("sysview: " + err.Error()) // the package wrote the text
	}
	return r.set(column, d)
}

func collectionRows(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		if t.Kind != catalog.KindTable && !t.IsMaterialized() {
			return nil
		}
		stats, missing, err := b.env.counted(b.env.Database, t.StorageID)
		if err != nil {
			return err
		}
		r := b.row().oid("collection", t.OID).bool("anchors", t.Anchors).optional("anchor_by", t.AnchorBy)
		if len(missing) == 0 {
			docs, bytes := total(stats, nil)
			r.int("documents", docs).int("bytes", bytes)
		}
		var key []string
		if pk := t.PrimaryKey(); pk != nil {
			for _, att := range pk.Columns {
				key = append(key, t.ColumnByNum(att).Name)
			}
		}
		r.texts("key", key)
		if c := t.ColumnByNum(t.Document); c != nil {
			r.text("document", c.Name)
		}
		if t.Policy != nil {
			r.json("policy", t.Policy.JSON())
		}
		return r.send()
	})
}

func databases(b *builder) error {
	for d := range b.env.View.Databases() {
		stats, missing, err := b.env.counted(d, 0)
		if err != nil {
			return err
		}
		r := b.row().text("database", d.Name).int("fragments", int64(len(d.Fragments))).
			int("replication_factor", int64(d.ReplicationFactor)).int("epoch", int64(d.Map.Epoch()))
		if len(missing) == 0 {
			docs, bytes := total(stats, nil)
			r.int("documents", docs).int("bytes", bytes)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

func sherdSettings(b *builder) error {
	for _, d := range settings.All() {
		if d.Category != settings.OwnCategory {
			continue
		}
		value, _ := b.env.Setting(d)
		if err := b.row().text("name", d.Name).text("setting", d.Show(value)).text("description", d.Description).
			send(); err != nil {
			return err
		}
	}
	return nil
}

func sherdVersion(b *builder) error {
	return b.row().text("product", "Sherd").text("version", settings.Version).text("postgres", settings.ServerVersion).
		send()
}

// bucketKey is a group of neighbouring buckets in one fragment.
type bucketKey struct{ fragment, from, to uint32 }

// buckets counts documents by runs of neighbouring buckets, as the fragments count them.
func buckets(b *builder) error {
	stats, _, err := b.env.counted(b.env.Database, 0)
	if err != nil {
		return err
	}
	sums := map[bucketKey]Stat{}
	for _, s := range stats {
		k := bucketKey{s.Fragment, s.From, s.To}
		sum := sums[k]
		sum.Documents += s.Documents
		sum.Bytes += s.Bytes
		sums[k] = sum
	}
	heat := b.env.Heat()
	keys := slices.SortedFunc(maps.Keys(sums), func(x, y bucketKey) int { return int(x.from) - int(y.from) })
	for _, k := range keys {
		reads, writes := sumUse(heat, uint32(k.fragment), int64(k.from), int64(k.to))
		err := b.row().int("first_bucket", int64(k.from)).int("end_bucket", int64(k.to)).
			text("fragment", b.env.fragmentName(k.fragment)).
			int("documents", sums[k].Documents).int("bytes", sums[k].Bytes).float("reads", reads).
			float("writes", writes).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func labelsJSON(m map[string]string) string {
	if m == nil {
		return "{}"
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic("sysview: " + err.Error()) // a map of texts always encodes
	}
	return string(text)
}
