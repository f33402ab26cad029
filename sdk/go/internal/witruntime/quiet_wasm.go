// When the host must not be called: while it waits for memory, and while it cleans up.

package witruntime

import (
	"runtime"
	"unsafe"
)

// quiet is set while the host waits for memory or cleans up: a call of it would trap then.
var quiet bool

// tellAdapter makes the clock, the generator and the streams of the adapter do without the
// host, or use it again.
//
//go:wasmimport wasi_snapshot_preview1 wharf_quiet
func tellAdapter(on int32)

// WaitForHost returns when the host may be called. Another goroutine can run while the host
// waits for memory, since allocating may start a collection.
func WaitForHost() {
	for quiet {
		runtime.Gosched()
	}
}

// inHost counts the goroutines that are in a call of the host or read what it answered.
var inHost int

// Enter begins a use of the host; what it returns ends it. What the host wrote is free for the
// collector when nobody reads such memory any more, not only when the handler returns.
func Enter() func() {
	WaitForHost()
	inHost++
	return leave
}

func leave() {
	inHost--
	if inHost == 0 {
		Unpin()
	}
}

// PostReturn lets go of what the last export returned.
func PostReturn(pinner *runtime.Pinner) {
	setQuiet(true)
	pinner.Unpin()
	setQuiet(false)
}

// reallocate gives the host memory for what it writes. It never enlarges what it gave.
//
//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil || oldSize != 0 {
		panic("witruntime: the host asked to enlarge memory")
	}
	setQuiet(true)
	pointer := Allocate(&fromHost, size, align)
	setQuiet(false)
	return pointer
}

func setQuiet(on bool) {
	quiet = on
	if on {
		tellAdapter(1)
	} else {
		tellAdapter(0)
	}
}
