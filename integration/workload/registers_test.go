package workload

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestRegisterModel shows that the check can fail: a read that misses an acknowledged write, and a value that comes back.
func TestRegisterModel(t *testing.T) {
	op := func(call, end int64, in registerInput, out registerOutput) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Input: in, Output: out}
	}
	w, r := registerInput{kind: 'w', new: 1}, registerInput{kind: 'r'}
	stale := []porcupine.Operation{op(1, 2, w, registerOutput{}), op(3, 4, r, registerOutput{value: 0})}
	back := []porcupine.Operation{op(1, 9, w, registerOutput{}), op(2, 3, r, registerOutput{value: 1}), op(4, 5, r, registerOutput{value: 0})}
	fine := []porcupine.Operation{op(1, 9, w, registerOutput{}), op(2, 3, r, registerOutput{value: 0}), op(4, 5, r, registerOutput{value: 1})}
	if porcupine.CheckOperations(registers, stale) || porcupine.CheckOperations(registers, back) || !porcupine.CheckOperations(registers, fine) {
		t.Error("the model is wrong")
	}
}
