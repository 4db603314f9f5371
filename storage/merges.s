// An assembler file lets merges.go declare functions without a body.
