package monitor

// PIDsOfNode is how many process numbers each node has for its sessions. They are not numbers of
// processes, but name a session in the whole cluster: any node can be asked to cancel its statement.
const PIDsOfNode = 1 << 20

const nodesWithPIDs = 1 << 11 // drivers hold a process number in a signed int32

// FirstPID returns the number before the first one of a node's sessions.
func FirstPID(node uint32) uint32 { return (node - 1) % nodesWithPIDs * PIDsOfNode }

// NodeOfPID returns the node of a session. Nodes beyond 2048 share their numbers with others.
func NodeOfPID(pid uint32) uint32 { return pid/PIDsOfNode%nodesWithPIDs + 1 }
