// Command kinds writes what the embedded API server knows of Kubernetes' own kinds: which resources a real API server of
// this module's version serves, and the fields of their types. `cargo xtask kinds` runs it.
//
// The fields come from the Go types (names, protobuf numbers, pointers, omitempty, strategic merge), what server-side apply
// needs comes from the server's OpenAPI document, the resources from its aggregated discovery.
//
// The grammar of the output, one fact a line, words parted by one space:
//
//	group NAME                                            (none for core), in the order of discovery
//	version VERSION                                       preferred first
//	resource PLURAL KIND SINGULAR namespaced|cluster VERBS SHORT-NAMES CATEGORIES      lists by comma, `-` if empty
//	deprecated WARNING                                    of the resource before; the rest of the line
//	subresource NAME API-VERSION KIND VERBS               of the resource before
//	kind API-VERSION KIND TYPE
//	type NAME [atomic]                                    its fields follow; atomic: owned as a whole
//	NUMBER NAME TYPE FLAGS...                             number 0: not in protobuf; name `-`: inlined
//
// A field's TYPE is a scalar or a type, with `[]` for a list or `{}` for a map before it, and after it `*` for a pointer,
// `?` for omitempty, `!` for omitzero. Flags: `merge`, `merge=KEY`, `retainKeys`, `replace` (strategic merge patch), `set`,
// `map=KEY,...` (kinds of lists; without one a list is atomic), `atomic` (a map owned as a whole), `default=JSON` (of keys).
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	server := flag.String("server", "", "URL of a running API server")
	token := flag.String("token", "", "its administrator's token")
	authority := flag.String("ca", "", "file of its certificate authority")
	table := flag.String("table", "", "file to write the table to")
	samples := flag.String("samples", "", "folder to write samples of objects to, as protobuf and as JSON")
	flag.Parse()
	if err := run(*server, *token, *authority, *table, *samples); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(server, token, authority, table, samples string) error {
	api, err := connect(server, token, authority)
	if err != nil {
		return err
	}
	version, err := api.version()
	if err != nil {
		return err
	}
	groups, err := api.groups()
	if err != nil {
		return err
	}
	definitions, err := api.definitions()
	if err != nil {
		return err
	}
	if err := writeSamples(samples); err != nil {
		return err
	}
	file, err := os.Create(filepath.Clean(table))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	fmt.Fprintf(out, "# Resources and types of Kubernetes %s. Written by `cargo xtask kinds` from a running API server and its Go types; not by hand.\n", version)
	writeGroups(out, groups)
	collect().write(out, definitions)
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
