package main

// The Go types: what JSON and protobuf look like, and what strategic merge patch does.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Types that write themselves to JSON or protobuf in a way of their own; the reader of the table knows them by name.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                                  "Time",
	reflect.TypeFor[meta.MicroTime]():                             "MicroTime",
	reflect.TypeFor[meta.Duration]():                              "Duration",
	reflect.TypeFor[meta.FieldsV1]():                              "FieldsV1",
	reflect.TypeFor[resource.Quantity]():                          "Quantity",
	reflect.TypeFor[intstr.IntOrString]():                         "IntOrString",
	reflect.TypeFor[runtime.RawExtension]():                       "RawExtension",
	reflect.TypeFor[apiextensions.JSON]():                         "JSON",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "JSONSchemaPropsOrBool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "JSONSchemaPropsOrArray",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "JSONSchemaPropsOrStringArray",
}

type field struct {
	number, name, typ, marks string
	flags                    []string
	inlined                  string
}

type table struct {
	types map[string][]field
	names map[string]string // table's name: OpenAPI's name
	kinds []string
	// The types into which a type is inlined: there OpenAPI tells about its fields.
	inlinedInto map[string][]string
}

// collect takes all kinds of stable versions that have metadata, and the two other kinds that travel.
func collect() *table {
	t := &table{types: map[string][]field{}, names: map[string]string{}, inlinedInto: map[string][]string{}}
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	for kind, typ := range all.AllKnownTypes() {
		_, object := typ.FieldByName("ObjectMeta")
		travels := kind.Group == "" && (kind.Kind == "DeleteOptions" || kind.Kind == "Status")
		if stable.MatchString(kind.Version) && (object || travels) {
			t.walk(typ)
			t.kinds = append(t.kinds, fmt.Sprintln("kind", join(kind.Group, kind.Version), kind.Kind, name(typ)))
		}
	}
	// The schema of a definition is reached through types with a JSON of their own only.
	t.walk(reflect.TypeFor[apiextensions.JSONSchemaProps]())
	slices.Sort(t.kinds)
	return t
}

func name(typ reflect.Type) string {
	folder := path.Base(path.Dir(typ.PkgPath())) + "/" + path.Base(typ.PkgPath())
	return folder + "." + typ.Name()
}

// openAPIName turns k8s.io/api/core/v1 and Pod into io.k8s.api.core.v1.Pod.
func openAPIName(typ reflect.Type) string {
	host, rest, _ := strings.Cut(typ.PkgPath(), "/")
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + typ.Name()
}

func (t *table) describe(typ reflect.Type) string {
	if word, ok := special[typ]; ok {
		return word
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return t.describe(typ.Elem())
	case reflect.Slice:
		switch {
		case typ.Elem().Kind() == reflect.Uint8:
			return "bytes"
		case typ.Name() == "ExtraValue":
			return "ExtraValue"
		}
		return "[]" + t.describe(typ.Elem())
	case reflect.Map:
		return "{}" + t.describe(typ.Elem())
	case reflect.Struct:
		t.walk(typ)
		return name(typ)
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return typ.Kind().String()
	default:
		panic(fmt.Sprintf("no word for %s", typ))
	}
}

func (t *table) walk(typ reflect.Type) {
	own := name(typ)
	if other, ok := t.names[own]; ok {
		if other != openAPIName(typ) {
			panic(fmt.Sprintf("%s and %s have one name", other, openAPIName(typ)))
		}
		return
	}
	t.names[own] = openAPIName(typ)
	var fields []field
	for i := range typ.NumField() {
		from := typ.Field(i)
		tag := strings.Split(from.Tag.Get("json"), ",")
		if !from.IsExported() || tag[0] == "-" {
			continue
		}
		f := field{number: "0", name: tag[0], typ: t.describe(from.Type)}
		if protobuf := strings.Split(from.Tag.Get("protobuf"), ","); len(protobuf) > 1 {
			f.number = protobuf[1]
		}
		if f.name == "" {
			if from.Type.Kind() != reflect.Struct {
				panic(fmt.Sprintf("%s.%s is inlined and no struct", own, from.Name))
			}
			f.name = "-"
			f.inlined = f.typ
			t.inlinedInto[f.typ] = append(t.inlinedInto[f.typ], own)
		}
		if from.Type.Kind() == reflect.Pointer {
			f.marks += "*"
		}
		if slices.Contains(tag[1:], "omitempty") {
			f.marks += "?"
		}
		if slices.Contains(tag[1:], "omitzero") {
			f.marks += "!"
		}
		for strategy := range strings.SplitSeq(from.Tag.Get("patchStrategy"), ",") {
			if key := from.Tag.Get("patchMergeKey"); strategy == "merge" && key != "" {
				strategy += "=" + key
			}
			if strategy != "" {
				f.flags = append(f.flags, strategy)
			}
		}
		fields = append(fields, f)
	}
	t.types[own] = fields
}

// property finds what OpenAPI says of a field, also where its type is inlined into others.
func (t *table) property(typ, field string, definitions map[string]definition) (definition, bool) {
	if found, ok := definitions[t.names[typ]].Properties[field]; ok {
		return found, true
	}
	for _, outer := range slices.Sorted(slices.Values(t.inlinedInto[typ])) {
		if found, ok := t.property(outer, field, definitions); ok {
			return found, true
		}
	}
	return definition{}, false
}

func (t *table) write(out io.Writer, definitions map[string]definition) {
	for _, kind := range t.kinds {
		fmt.Fprint(out, kind)
	}
	keys := t.keys(definitions)
	for _, typ := range slices.Sorted(maps.Keys(t.types)) {
		line := "type " + typ
		if definitions[t.names[typ]].MapType == "atomic" {
			line += " atomic"
		}
		fmt.Fprintln(out, line)
		for _, f := range t.types[typ] {
			line := append([]string{f.number, f.name, f.typ + f.marks}, f.flags...)
			found, _ := t.property(typ, f.name, definitions)
			switch found.ListType {
			case "set":
				line = append(line, "set")
			case "map":
				line = append(line, "map="+strings.Join(found.Keys, ","))
			}
			if found.MapType == "atomic" {
				line = append(line, "atomic")
			}
			if keys[typ+" "+f.name] && len(found.Default) > 0 {
				line = append(line, "default="+compact(found.Default))
			}
			fmt.Fprintln(out, strings.Join(line, " "))
		}
	}
}

// keys finds the fields by which items of lists are told apart.
func (t *table) keys(definitions map[string]definition) map[string]bool {
	keys := map[string]bool{}
	for typ, fields := range t.types {
		for _, f := range fields {
			found, _ := t.property(typ, f.name, definitions)
			for _, key := range found.Keys {
				item := strings.TrimPrefix(f.typ, "[]")
				keys[item+" "+key] = true
				for _, inner := range t.types[item] {
					if inner.inlined != "" {
						keys[inner.inlined+" "+key] = true
					}
				}
			}
		}
	}
	return keys
}

func compact(value json.RawMessage) string {
	var any any
	if err := json.Unmarshal(value, &any); err != nil {
		panic(err)
	}
	text, err := json.Marshal(any)
	if err != nil {
		panic(err)
	}
	return string(text)
}
