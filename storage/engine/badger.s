// An assembler file lets badger.go declare functions without a body.
