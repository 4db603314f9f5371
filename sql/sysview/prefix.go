package sysview

// prefixes is sherd.prefixes.
func prefixes(b *builder) error {
	d := b.env.Database
	if len(d.Prefixes) == 0 {
		return nil
	}
	stats, _, err := b.env.counted(d, 0)
	if err != nil {
		return err
	}
	for i := range d.Prefixes {
		r := &d.Prefixes[i]
		names := make([]string, len(r.Fragments))
		for j, f := range r.Fragments {
			names[j] = b.env.fragmentName(f)
		}
		docs, bytes := total(stats, func(s *Stat) bool { return r.Lo <= s.From && s.From < r.Hi })
		err := b.row().text("prefix", r.Text).int("first_bucket", int64(r.Lo)).int("end_bucket", int64(r.Hi)).texts("fragments", names).
			int("elsewhere", int64(d.PrefixElsewhere(r))).int("documents", docs).int("bytes", bytes).send()
		if err != nil {
			return err
		}
	}
	return nil
}
