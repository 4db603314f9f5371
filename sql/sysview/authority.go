package sysview

import "time"

// Authority is one of the cluster's certificate authorities.
type Authority struct {
	Name       string // its fingerprint
	Phase      string // announced, signing, retiring
	Since      time.Time
	Expires    time.Time
	WaitsFor   []string  // nodes without which its replacement does not go on
	WaitsUntil time.Time // zero: not for the end of join tokens
	// Certificate is its certificate, PEM.
	Certificate string
}

// authorities is sherd.authorities.
func authorities(b *builder) error {
	if b.env.Authorities == nil {
		return nil
	}
	list, err := b.env.Authorities()
	if err != nil {
		return err
	}
	for _, a := range list {
		r := b.row().text("authority", a.Name).text("phase", a.Phase).time("since", a.Since).time("expires", a.Expires).texts("waits_for", a.WaitsFor).
			text("certificate", a.Certificate)
		if !a.WaitsUntil.IsZero() {
			r.time("waits_until", a.WaitsUntil)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
