package fragment

// DropUnwanted is for tests with a catalog.
var DropUnwanted = (*Replicas).dropUnwanted
