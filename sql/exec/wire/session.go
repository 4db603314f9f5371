package wire

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
)

// Session holds the values of a session that expressions of a task may ask for. It implements
// builtin.IdentityInfo and builtin.SettingInfo. The node that runs the task answers other questions
// itself, or the planner keeps the functions at the gateway.
type Session struct {
	User, Login       string // current_user, session_user
	Database          string
	Schemas, Implicit []string // CurrentSchemas without and with the implicitly searched schemas
	PID               int32
	Version           string
	Client, Server    Address
	Settings          []Setting // those that the plan names
}

// Address is an end of the client's connection.
type Address struct {
	Host string
	Port int
}

// Setting is a configuration parameter.
type Setting struct {
	Name, Value string
	Set         bool // the session has the setting
}

var (
	_ builtin.IdentityInfo = (*Session)(nil)
	_ builtin.SettingInfo  = (*Session)(nil)
)

// AppendSession appends the values of a session, and the settings named.
func AppendSession(dst []byte, s builtin.SessionInfo, settings []string) []byte {
	if s == nil {
		return dst
	}
	for _, text := range []string{s.CurrentUser(), s.SessionUser(), s.CurrentDatabase(), s.ServerVersion()} {
		dst = appendText(dst, text)
	}
	dst = appendTexts(dst, s.CurrentSchemas(false))
	dst = appendTexts(dst, s.CurrentSchemas(true))
	dst = appendInt(dst, int64(s.BackendPID()))
	for _, of := range []func() (string, int){s.ClientAddress, s.ServerAddress} {
		host, port := of()
		dst = appendUint(appendText(dst, host), uint64(port))
	}
	dst = appendUint(dst, uint64(len(settings)))
	for _, name := range settings {
		value, ok := s.Setting(name)
		dst = appendBool(appendText(appendText(dst, name), value), ok)
	}
	return dst
}

func appendTexts(dst []byte, list []string) []byte {
	dst = appendUint(dst, uint64(len(list)))
	for _, s := range list {
		dst = appendText(dst, s)
	}
	return dst
}

// DecodeSession decodes the output of AppendSession, nil if it is empty.
func DecodeSession(b []byte) (*Session, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := newReader(append([]byte(nil), b...), "a session")
	s := &Session{
		User: r.text(), Login: r.text(), Database: r.text(), Version: r.text(), Schemas: r.texts(), Implicit: r.texts(),
		PID: int32(r.int()),
	}
	s.Client, s.Server = r.address(), r.address()
	for range r.count() {
		s.Settings = append(s.Settings, Setting{r.text(), r.text(), r.bool()})
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *reader) texts() []string {
	var out []string
	for range r.count() {
		out = append(out, r.text())
	}
	return out
}

func (r *reader) address() Address { return Address{r.text(), int(r.upTo(1 << 16))} }

// CurrentUser implements builtin.IdentityInfo.
func (s *Session) CurrentUser() string { return s.User }

// SessionUser implements builtin.IdentityInfo.
func (s *Session) SessionUser() string { return s.Login }

// CurrentDatabase implements builtin.IdentityInfo.
func (s *Session) CurrentDatabase() string { return s.Database }

// CurrentSchemas implements builtin.IdentityInfo.
func (s *Session) CurrentSchemas(implicit bool) []string {
	if implicit {
		return slices.Clone(s.Implicit)
	}
	return slices.Clone(s.Schemas)
}

// BackendPID implements builtin.IdentityInfo.
func (s *Session) BackendPID() int32 { return s.PID }

// ServerVersion implements builtin.IdentityInfo.
func (s *Session) ServerVersion() string { return s.Version }

// ClientAddress implements builtin.IdentityInfo.
func (s *Session) ClientAddress() (host string, port int) { return s.Client.Host, s.Client.Port }

// ServerAddress implements builtin.IdentityInfo.
func (s *Session) ServerAddress() (host string, port int) { return s.Server.Host, s.Server.Port }

// Setting implements builtin.SettingInfo for the settings that were sent.
func (s *Session) Setting(name string) (string, bool) {
	for i := range s.Settings {
		if s.Settings[i].Name == name {
			return s.Settings[i].Value, s.Settings[i].Set
		}
	}
	return "", false
}

// SetSetting implements builtin.SettingInfo: only the session itself can.
func (s *Session) SetSetting(string, string, bool) (string, error) {
	return "", pgerr.Unsupported("settings cannot be changed where a statement's rows are read").
		WithHint("Call set_config in a SELECT without FROM.")
}
