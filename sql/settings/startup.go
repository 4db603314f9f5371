package settings

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Startup has the sources of a new session's values.
type Startup struct {
	Role      string
	Superuser bool
	// Of ALTER DATABASE … SET and ALTER ROLE … SET.
	DatabaseSettings, RoleSettings map[string]string
	// Packet are the parameters of the client's start-up packet.
	Packet map[string]string
}

// Start sets the values that the database, the role, the packet's options and the rest of the
// packet ask for. It does so in this order, which is PostgreSQL's. Afterwards, parameters that can
// only be set at the start cannot be changed.
func (v *Values) Start(s Startup) error {
	for _, layer := range []map[string]string{s.DatabaseSettings, s.RoleSettings} {
		if err := v.startWith(layer); err != nil {
			return err
		}
	}
	v.restricted = !s.Superuser // the layers above were set by roles that may
	if options, ok := s.Packet["options"]; ok {
		if err := v.applyOptions(options); err != nil {
			return err
		}
	}
	if err := v.startWith(s.Packet); err != nil {
		return err
	}
	v.startup["session_authorization"] = s.Role
	v.startup["is_superuser"] = OnOff(s.Superuser)
	v.started = true
	v.version++
	return nil
}

func (v *Values) startWith(layer map[string]string) error {
	for name, value := range layer {
		if name == "options" {
			continue
		}
		if err := v.setStartup(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (v *Values) setStartup(name, value string) error {
	if name == "replication" && (value == "false" || value == "off" || value == "0") {
		return nil
	}
	canonical, err := v.Check(name, value)
	if err != nil {
		return err
	}
	v.startup[strings.ToLower(name)] = canonical
	return nil
}

// applyOptions reads the command-line form of settings: -c name=value and --name=value, blanks
// escaped by backslash.
func (v *Values) applyOptions(options string) error {
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "-c"):
			w = w[2:]
		case strings.HasPrefix(w, "--"):
			w = w[2:]
		default:
			return pgerr.New(pgerr.SyntaxError, "invalid command-line argument for server process: %s", w)
		}
		name, value, _ := strings.Cut(w, "=")
		if err := v.setStartup(strings.ReplaceAll(name, "-", "_"), value); err != nil {
			return err
		}
	}
	return nil
}

func splitOptions(s string) []string {
	var out []string
	var word strings.Builder
	open := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			open = true
		case s[i] == ' ' || s[i] == '\t' || s[i] == '\n':
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(s[i])
			open = true
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out
}
