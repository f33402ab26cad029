// Commands that end in a way of their own, or have nothing to report.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	wharf "github.com/wharf-dev/wharf/sdk/go"
	"github.com/wharf-dev/wharf/sdk/go/cluster"
)

// commands are found by their names.
var commands map[string]func(call) (wharf.Outcome, error)

// Not in the declaration: `recurse` leads back to it.
func init() {
	commands = map[string]func(call) (wharf.Outcome, error){
		"done":         func(call) (wharf.Outcome, error) { return wharf.Done(), nil },
		"requeue":      requeue,
		"retry":        retry,
		"permanent":    permanent,
		"error":        plainError,
		"rejected":     plainError,
		"leave":        plainError,
		"panic":        func(c call) (wharf.Outcome, error) { panic(errors.New(c.args.Message)) },
		"throw-value":  func(c call) (wharf.Outcome, error) { panic(value{c.args.Message}) },
		"recurse":      func(call) (wharf.Outcome, error) { return wharf.RequeueAfter(time.Duration(recurse(1))), nil },
		"spin":         spin,
		"allocate":     allocate,
		"log":          log,
		"native-log":   nativeLog,
		"print":        printLine,
		"record-event": recordEvent,
	}
}

func requeue(c call) (wharf.Outcome, error) {
	return wharf.RequeueAfter(milliseconds(c.args.Ms)), nil
}

func retry(c call) (wharf.Outcome, error) {
	failure := wharf.Retry(c.args.Reason, c.args.Message)
	if c.args.Ms != nil {
		failure = failure.After(milliseconds(c.args.Ms))
	}
	return wharf.Done(), failure
}

func permanent(c call) (wharf.Outcome, error) {
	return wharf.Done(), wharf.Permanent(c.args.Reason, c.args.Message)
}

func plainError(c call) (wharf.Outcome, error) { return wharf.Done(), errors.New(c.args.Message) }

// value is no error.
type value struct{ text string }

func (v value) String() string { return v.text }

func recurse(depth int) int {
	if depth == 0 {
		return 0
	}
	return recurse(depth+1) + 1
}

func spin(call) (wharf.Outcome, error) {
	for i := uint64(0); ; i++ {
		counter += i & 1
	}
}

// kept is never let go of.
var kept [][]byte

func allocate(call) (wharf.Outcome, error) {
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}

var levels = map[string]slog.Level{
	"trace": wharf.LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func log(c call) (wharf.Outcome, error) {
	var fields []any
	for _, field := range c.args.Fields {
		fields = append(fields, field[0], field[1])
	}
	slog.Log(context.Background(), levels[c.args.Level], c.args.Message, fields...)
	return wharf.Done(), nil
}

func nativeLog(c call) (wharf.Outcome, error) {
	slog.Debug(c.args.Message)
	slog.Info(c.args.Message)
	slog.Warn(c.args.Message)
	slog.Error(c.args.Message)
	return wharf.Done(), nil
}

func printLine(c call) (wharf.Outcome, error) {
	fmt.Println(c.args.Message)
	return wharf.Done(), nil
}

func recordEvent(c call) (wharf.Outcome, error) {
	eventType := cluster.Normal
	if strings.EqualFold(c.args.Type, "warning") {
		eventType = cluster.Warning
	}
	cluster.RecordEvent(c.event.Key(), eventType, c.args.Reason, c.args.Message)
	return wharf.Done(), nil
}

func milliseconds(ms *uint32) time.Duration {
	if ms == nil {
		return 0
	}
	return time.Duration(*ms) * time.Millisecond
}
