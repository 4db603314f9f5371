package settings

// reported are the parameters whose values clients are sent (GUC_REPORT).
var reported = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
	"integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version",
	"session_authorization", "standard_conforming_strings", "TimeZone", "sherd.version",
}

// report has the values that were sent to a client.
type report struct {
	sent    map[string]string
	version uint64 // of the values when they were last compared
}

// Report returns the name and value of each parameter that the client has to be sent because it
// does not know the value yet. At the start these are all that clients are ever sent.
func (v *Values) Report() [][2]string {
	if v.report.version == v.version {
		return nil
	}
	v.report.version = v.version
	var out [][2]string
	for _, name := range reported {
		value, err := v.Show(name)
		if old, known := v.report.sent[name]; err != nil || known && old == value {
			continue
		}
		v.report.sent[name] = value
		out = append(out, [2]string{name, value})
	}
	return out
}

// SendReport calls send with the name and value of each parameter of Report.
func (v *Values) SendReport(send func(name, value string) error) error {
	for _, p := range v.Report() {
		if err := send(p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}
