/* Commands that end the call, well or badly, and those that look for what is left of the call
   before. */
#include "guest.h"

/* Keeps the compiler from seeing that nobody wants to know. */
static volatile uint64_t sink;

static int64_t count(void) {
    static int64_t calls;
    return ++calls;
}

static uint64_t recurse(uint64_t depth) {
    sink = depth;
    return sink == UINT64_MAX ? 0 : recurse(sink + 1) + sink;
}

__attribute__((noreturn)) static void spin(void) {
    for (;;) {
        sink = sink + 1;
    }
}

__attribute__((noreturn)) static void allocate(void) {
    for (;;) {
        sink = (uint64_t)(uintptr_t)wharf_alloc(1 << 20);
    }
}

static wharf_result churn(void) {
    size_t len = (size_t)arg_int("bytes");
    char *bytes = memset(wharf_alloc(len + 1), 'x', len);
    sink = (uint64_t)bytes[0];
    return report_int(count());
}

static wharf_result retry(void) {
    wharf_result result = wharf_retry(arg_string("reason").ptr, "%s", arg_string("message").ptr);
    return wharf_present(arg_raw("ms")) ? wharf_after(result, (uint32_t)arg_int("ms")) : result;
}

bool end_command(const char *command, const wharf_event *event, wharf_result *result) {
    (void)event;
    if (is(command, "done")) {
        *result = wharf_done();
    } else if (is(command, "requeue")) {
        *result = wharf_requeue_after((uint32_t)arg_int("ms"));
    } else if (is(command, "retry")) {
        *result = retry();
    } else if (is(command, "permanent")) {
        *result = wharf_permanent(arg_string("reason").ptr, "%s", arg_string("message").ptr);
    } else if (is(command, "error") || is(command, "rejected") || is(command, "leave")) {
        *result = wharf_error("%s", arg_string("message").ptr);
    } else if (is(command, "panic") || is(command, "throw-value")) {
        wharf_panic("%s", arg_string("message").ptr);
    } else if (is(command, "recurse")) {
        *result = report_int((int64_t)recurse(0));
    } else if (is(command, "spin")) {
        spin();
    } else if (is(command, "allocate")) {
        allocate();
    } else if (is(command, "count")) {
        *result = report_int(count());
    } else if (is(command, "churn")) {
        *result = churn();
    } else {
        return false;
    }
    return true;
}
