/*
 * Log lines. Owns the ways from C's types to text, and that nothing is logged after an error
 * that nobody caught: it would tell of what was not read. The format of a line is the host's.
 */
#include "internal.h"

bool wharf_enabled(wharf_level level) {
    return !wharf__running.failed && wharf_plugin_log_enabled((wharf_plugin_log_level_t)level);
}

void wharf_emit(wharf_level level, const char *message, const wharf_field *fields, size_t count) {
    if (wharf__running.failed) {
        return;
    }
    controller_list_tuple2_string_string_t list = {NULL, count};
    list.ptr = wharf__take(count * sizeof *list.ptr + 1);
    for (size_t i = 0; i < count; i++) {
        list.ptr[i].f0 = wharf__to_c(fields[i].name);
        list.ptr[i].f1 = wharf__to(wharf__utf8(fields[i].value));
    }
    controller_string_t text = wharf__to(wharf__utf8(wharf_s(message)));
    wharf_plugin_log_emit((wharf_plugin_log_level_t)level, &text, &list);
}

wharf_field wharf_kv_str(const char *name, wharf_str value) {
    wharf_field field = {name, value};
    return field;
}

wharf_field wharf_kv_text(const char *name, const char *value) {
    return wharf_kv_str(name, wharf_s(value));
}

wharf_field wharf_kv_int(const char *name, int64_t value) {
    return wharf_kv_str(name, wharf__digits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0));
}

wharf_field wharf_kv_uint(const char *name, uint64_t value) {
    return wharf_kv_str(name, wharf__digits(value, false));
}

wharf_field wharf_kv_double(const char *name, double value) {
    return wharf_kv_str(name, wharf__double_text(value));
}

wharf_field wharf_kv_bool(const char *name, bool value) {
    return wharf_kv_text(name, value ? "true" : "false");
}
