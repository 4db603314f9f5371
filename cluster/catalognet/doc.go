// Package catalognet carries what a node asks of the node that leads the catalog: to put a change into the catalog's log, or how far that is.
//
//	n := catalognet.New(door, members)   // registers the service, which refuses until Serve
//	c, err := catalog.Open(catalog.Options{ID: raftnet.ServerID(2), Transport: mux.Transport(0), Forward: n.Forward, Join: true, …})
//	n.Serve(c)
//
// It carries bytes that package catalog writes and reads, and tries once: that a lost answer does no harm, and who leads, is the catalog's to know.
package catalognet
