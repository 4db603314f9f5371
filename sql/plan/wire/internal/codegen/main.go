// Command codegen writes the code that reads and writes plans in the form of plan.proto:
// plan_encode.pb.go and plan_decode.pb.go. Run it with go generate in package wire.
//
// It compares plan.proto with the Go types of packages plan and query, and fails if a kind of step
// or expression, a field or a value of an enumeration is in one of them only. Its test does the
// same, and fails if the files are older than either.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	goTypes, err := loadTypes()
	if err != nil {
		log.Fatal(err)
	}
	files, err := generate("plan.proto", goTypes)
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the contents of the generated files, by name.
func generate(path string, g *goTypes) (map[string][]byte, error) {
	schema, err := readSchema(path)
	if err != nil {
		return nil, err
	}
	m, err := match(schema, g)
	if err != nil {
		return nil, err
	}
	return emit(m)
}
