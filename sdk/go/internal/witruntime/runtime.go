// Package witruntime owns the memory that passes between the host and the generated bindings:
// what the host writes for a call, and what it reads after one. It knows no interface of the
// host.
package witruntime

import (
	"fmt"
	"runtime"
	"unsafe"
)

// fromHost holds what the host wrote since the last export began: the collector sees no
// pointer to it until the bindings have read it.
var fromHost runtime.Pinner

// Allocate makes memory that stays where it is until the pinner lets go of it.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	pointer := allocate(size, align)
	pinner.Pin(pointer)
	return pointer
}

// Unpin leaves what the host wrote to the collector. The bindings call it when they have made
// Go values of it, which then keep it alive by themselves.
func Unpin() {
	fromHost.Unpin()
}

// Pointer is the pointer that an address from the host stands for. The bindings read through it
// at once, and what it points to is pinned meanwhile.
func Pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// allocate makes memory without pointers, of the element type that gives the alignment.
func allocate(size, align uintptr) unsafe.Pointer {
	count := (size + align - 1) / align
	switch align {
	case 1:
		return unsafe.Pointer(unsafe.SliceData(make([]uint8, count)))
	case 2:
		return unsafe.Pointer(unsafe.SliceData(make([]uint16, count)))
	case 4:
		return unsafe.Pointer(unsafe.SliceData(make([]uint32, count)))
	case 8:
		return unsafe.Pointer(unsafe.SliceData(make([]uint64, count)))
	}
	panic(fmt.Sprintf("witruntime: nothing is aligned to %d bytes", align))
}
