// Package node is a Sherd process without its command line: the wiring diagram. Open builds everything from the ground up, Close ends it in reverse:
//
//	n, err := node.Open(ctx, node.Config{Data: "data", SQLAddr: "127.0.0.1:5433"})
//	go n.Serve()
//	fmt.Println(n.URL())
//	…
//	err = n.Close(ctx) // clients first, which may finish until ctx ends
//
// A process may hold several nodes; there is nothing global here. What belongs to the process (signals, the limit of its memory, where it logs to)
// is its caller's.
//
// The package decides nothing of what a statement or an entry means. It knows which part needs
// which, and in which order.
package node
