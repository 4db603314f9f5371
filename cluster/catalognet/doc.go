// Package catalognet carries a node's requests to the node that leads the catalog: to put a change
// into the catalog's log, or to ask how far the log is.
//
//	n := catalognet.New(port, members)   // registers the service, which refuses until Serve
//	c, err := catalog.Open(catalog.Options{ID: raftnet.ServerID(2), Transport: mux.Transport(0), Forward: n.Forward, Join: true, …})
//	n.Serve(c)
//
// It carries bytes that package catalog writes and reads, and tries once: package catalog knows
// which node leads, and makes a lost answer harmless.
package catalognet
