package verify

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// Maps that are missing or that name a fragment that does not exist. A map with a hole cannot be
// built: shardmap refuses it.
func TestBucketMap(t *testing.T) {
	whole, err := shardmap.NewAssignedMap(1, []shardmap.Range{{Interval: shardmap.WholeSpace(), Fragment: 3}},
		shardmap.BucketCount)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		m        *shardmap.Map
		fragment uint32
		want     string
	}{
		{whole, 3, "true 1 ranges"},
		{whole, 4, "false buckets [0,1048576) belong to fragment 3, which does not exist"},
		{nil, 3, "false there is no bucket map"},
	} {
		c := &Check{db: &catalog.Database{Name: "d", Map: x.m, Fragments: []catalog.Fragment{{ID: x.fragment}}},
			findings: map[topic]*finding{}}
		c.checkMap()
		var got []string
		err := c.Report(func(check, subject string, ok bool, detail string) error {
			word := "false "
			if ok {
				word = "true "
			}
			got = append(got, word+detail)
			return nil
		})
		if err != nil || strings.Join(got, "; ") != x.want {
			t.Errorf("%v: %q, want %q", err, got, x.want)
		}
	}
}
