package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// httpServer is the HTTP port for operators: a health check and profiles.
type httpServer struct {
	listener net.Listener
	server   *http.Server
}

// openHTTP listens on addr; if addr is "", it returns nil.
func openHTTP(addr string) (*httpServer, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := listen("operators", "http-addr", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	d := &httpServer{listener: l, server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	go d.server.Serve(l) // ends with close
	return d, nil
}

// addr returns the address at which it listens, "" if there is no such port.
func (d *httpServer) addr() string {
	if d == nil {
		return ""
	}
	return d.listener.Addr().String()
}

func (d *httpServer) close(ctx context.Context) error {
	if d == nil {
		return nil
	}
	err := d.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return d.server.Close()
	}
	return err
}
