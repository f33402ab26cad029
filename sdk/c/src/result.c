/* How a call ends, and the error that nobody caught. */
#include "internal.h"

static wharf_result ends(uint8_t end) {
    wharf_result result = {end, false, 0, wharf_s(""), wharf_s("")};
    return result;
}

wharf_result wharf_done(void) {
    return ends(WHARF__DONE);
}

wharf_result wharf_requeue_after(uint32_t ms) {
    return wharf_after(ends(WHARF__REQUEUE), ms);
}

wharf_result wharf__failure(uint8_t end, const char *reason, wharf_str message) {
    wharf_result failure = ends(end);
    failure.reason = wharf_s(reason);
    failure.message = message;
    return failure;
}

wharf_result wharf_retry(const char *reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf_result failure = wharf__failure(WHARF__RETRY, reason, wharf__vformat(format, arguments));
    va_end(arguments);
    return failure;
}

wharf_result wharf_permanent(const char *reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf_result failure = wharf__failure(WHARF__PERMANENT, reason, wharf__vformat(format, arguments));
    va_end(arguments);
    return failure;
}

wharf_result wharf_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf_result failure = wharf__failure(WHARF__RETRY, "HandlerError", wharf__vformat(format, arguments));
    va_end(arguments);
    return failure;
}

wharf_result wharf_after(wharf_result result, uint32_t ms) {
    result.has_after = true;
    result.after_ms = ms;
    return result;
}

void wharf_fail(wharf_result failure) {
    if (!wharf__running.failed) {
        wharf__running.failed = true;
        wharf__running.failure = failure;
    }
}

bool wharf_failed(void) {
    return wharf__running.failed;
}

bool wharf_catch(wharf_str *text) {
    bool failed = wharf__running.failed;
    if (failed && text) {
        *text = wharf__running.failure.message;
    }
    wharf__running.failed = false;
    return failed;
}

void wharf__refuse(wharf_str sentence) {
    wharf__call *call = &wharf__running;
    if (call->refusals.len == call->refusals_room) {
        size_t room = 2 * call->refusals_room + 8;
        wharf_str *items = wharf__take(room * sizeof *items);
        if (call->refusals.len) {
            memcpy(items, call->refusals.items, call->refusals.len * sizeof *items);
        }
        call->refusals.items = items;
        call->refusals_room = room;
    }
    call->refusals.items[call->refusals.len++] = sentence;
}

void wharf_refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf__refuse(wharf__vformat(format, arguments));
    va_end(arguments);
}

__attribute__((weak, noreturn)) void wharf__trap(void) {
    __builtin_trap();
}

void wharf__panic(const char *text) {
    /* All that is said of it: the host shows the last error line of a call that trapped. */
    controller_string_t message = wharf__to(wharf__utf8(wharf_s(text)));
    controller_list_tuple2_string_string_t none = {NULL, 0};
    wharf_plugin_log_emit(WHARF_PLUGIN_LOG_LEVEL_ERROR, &message, &none);
    wharf__trap();
}

void wharf_panic(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf__panic(wharf__vformat(format, arguments).ptr);
}
