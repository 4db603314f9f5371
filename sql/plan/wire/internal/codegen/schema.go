package main

import (
	"context"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema is plan.proto.
type schema struct {
	protoreflect.FileDescriptor
}

func readSchema(path string) (schema, error) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: []string{filepath.Dir(path)},
	})}
	files, err := c.Compile(context.Background(), filepath.Base(path))
	if err != nil {
		return schema{}, err
	}
	return schema{files[0]}, nil
}

// option reports whether a field has an option that plan.proto defines.
func (s schema) option(f protoreflect.FieldDescriptor, name protoreflect.Name) bool {
	option := dynamicpb.NewExtensionType(s.Extensions().ByName(name))
	known, opts := &protoregistry.Types{}, &descriptorpb.FieldOptions{}
	text, err := proto.Marshal(f.Options())
	if err == nil {
		err = known.RegisterExtension(option)
	}
	if err == nil {
		err = proto.UnmarshalOptions{Resolver: known}.Unmarshal(text, opts)
	}
	if err != nil {
		panic(err) // the file was compiled
	}
	return opts.ProtoReflect().Get(option.TypeDescriptor()).Bool()
}
