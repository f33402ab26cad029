//go:build !wasm

// How writes change JSON.

package wharftest

import "maps"

// patched is a value after a JSON merge patch: null removes.
func patched(live, patch any) any {
	changes, ok := patch.(Object)
	if !ok {
		return patch
	}
	result := Object{}
	if object, ok := live.(Object); ok {
		maps.Copy(result, object)
	}
	for name, change := range changes {
		if change == nil {
			delete(result, name)
		} else {
			result[name] = patched(result[name], change)
		}
	}
	return result
}

// applied is a value after server-side apply by one manager, where lists are replaced whole:
// what it applied before and leaves out now is gone.
func applied(live, before, now any) any {
	wanted, ok := now.(Object)
	if !ok {
		return now
	}
	result := Object{}
	if object, ok := live.(Object); ok {
		maps.Copy(result, object)
	}
	old, _ := before.(Object)
	for name := range old {
		if _, still := wanted[name]; !still {
			delete(result, name)
		}
	}
	for name, value := range wanted {
		result[name] = applied(result[name], old[name], value)
	}
	return result
}
