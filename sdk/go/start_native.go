//go:build !wasm

// What is different in tests.

package wharf

// oneHandler: tests change the configuration, and every call is one of a new instance.
const oneHandler = false

// start does nothing: the log of the process belongs to the test.
func start() {}
