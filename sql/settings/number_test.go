package settings

import "testing"

// TestShow compares with what PostgreSQL 15 answers to SET and SHOW.
func TestShow(t *testing.T) {
	for _, c := range [][4]string{ // name, value, SHOW, pg_settings.setting
		{"vacuum_cost_delay", "0", "0", "0"}, {"vacuum_cost_delay", "2", "2ms", "2"},
		{"vacuum_cost_delay", "0.5", "500us", "0.5"},
		{"vacuum_cost_delay", "1.5ms", "1500us", "1.5"}, {"vacuum_cost_delay", "1.23456789", "1234.57us", "1.23457"},
		{"vacuum_cost_delay", "100us", "100us", "0.1"}, {"autovacuum_vacuum_cost_delay", "-1", "-1", "-1"},
		{"random_page_cost", "1.23456789", "1.23457", "1.23457"}, {"random_page_cost", "1000000", "1e+06", "1e+06"},
		{"random_page_cost", "4", "4", "4"}, {"seq_page_cost", "100", "100", "100"},
		{"cursor_tuple_fraction", "1e-5", "1e-05", "1e-05"},
		{"work_mem", "4096", "4MB", "4096"}, {"work_mem", "4097", "4097kB", "4097"},
		{"statement_timeout", "90000", "90s", "90000"},
		{"statement_timeout", "1h", "1h", "3600000"}, {"effective_cache_size", "3", "24kB", "3"},
		{"log_file_mode", "384", "0600", "0600"},
		{"unix_socket_permissions", "511", "0777", "0777"}, {"archive_command", "", "(disabled)", "(disabled)"},
	} {
		d, ok := Lookup(c[0])
		if !ok {
			t.Fatal(c[0])
		}
		v, err := d.Check(c[1])
		if err != nil {
			t.Fatal(c[0], err)
		}
		if show, setting := d.Show(v), d.Setting(v); show != c[2] || setting != c[3] {
			t.Errorf("%s = %s: SHOW %q, setting %q; want %q, %q", c[0], c[1], show, setting, c[2], c[3])
		}
	}
}
