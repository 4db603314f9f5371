package sysview

// systemIndexDef is an index of a system table.
type systemIndexDef struct{}

func (*systemIndexDef) definition(int) string { return "" }

// systemIndex finds an index of the system catalogs by OID.
func systemIndex(uint32) *systemIndexDef { return nil }
