package balance

import "github.com/sherddb/sherd/shardmap"

// Empty returns the moves that empty a fragment of in which drains, chosen so that the other
// fragments end near their shares. It leaves out moves of other fragments.
func Empty(in Input, fragment shardmap.FragmentID) (out []shardmap.Range) {
	in.Mode, in.Fill, in.Cells = Off, false, cutAtMap(in.Cells, in.Map)
	p := Decide(in)
	for _, s := range p.Steps {
		if s.Kind == MoveBuckets && s.From == fragment {
			out = append(out, shardmap.Range{Interval: s.Interval, Fragment: s.To})
		}
	}
	return out
}

// cutAtMap returns the cells, cut where ranges of the map begin. The map may be a future one, after
// moves that are under way.
func cutAtMap(cells []Cell, m *shardmap.Map) []Cell {
	ranges, out := m.Hashed(), make([]Cell, 0, len(cells))
	for _, c := range cells {
		for len(ranges) > 0 && ranges[0].Hi <= c.Lo {
			ranges = ranges[1:]
		}
		for len(ranges) > 0 && ranges[0].Hi < c.Hi {
			low := c.part(shardmap.Interval{Lo: c.Lo, Hi: ranges[0].Hi}, c.Len())
			rest := c.minus(low)
			rest.Interval = shardmap.Interval{Lo: low.Hi, Hi: c.Hi}
			out, c, ranges = append(out, low), rest, ranges[1:]
		}
		out = append(out, c)
	}
	return out
}
