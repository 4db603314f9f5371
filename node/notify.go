package node

// members returns the nodes of the cluster.
func (n *Node) members() []uint32 {
	var out []uint32
	for x := range n.catalog.View().Nodes() {
		out = append(out, x.ID)
	}
	return out
}
