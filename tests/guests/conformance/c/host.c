/* Commands that use what is no object and no cluster: log, configuration, time, randomness. */
#include <stdio.h>

#include "guest.h"

static wharf_level level(wharf_str word) {
    static const char *const words[] = {"trace", "debug", "info", "warn", "error"};
    wharf_level level = WHARF_TRACE;
    while (level < WHARF_ERROR && !wharf_is(word, words[level])) {
        level++;
    }
    return level;
}

static wharf_result line(void) {
    size_t count = 0;
    for (wharf_iter i = wharf_each(arg_raw("fields")); wharf_next(&i);) {
        count++;
    }
    wharf_field *fields = wharf_alloc((count + 1) * sizeof *fields);
    for (size_t n = 0; n < count; n++) {
        wharf_str name = arg_string(wharf_format("fields/%zu/0", n).ptr);
        fields[n] = wharf_kv(name.ptr, arg_string(wharf_format("fields/%zu/1", n).ptr));
    }
    wharf_emit(level(arg_string("level")), arg_string("message").ptr, fields, count);
    return wharf_done();
}

static wharf_result native_log(void) {
    const char *message = arg_string("message").ptr;
    wharf_trace(message);
    wharf_debug(message);
    wharf_info(message);
    wharf_warn(message);
    wharf_err(message);
    return wharf_done();
}

static wharf_result enabled(void) {
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_bool(&w, "trace", wharf_enabled(WHARF_TRACE));
    wharf_put_bool(&w, "debug", wharf_enabled(WHARF_DEBUG));
    wharf_put_bool(&w, "info", wharf_enabled(WHARF_INFO));
    wharf_put_bool(&w, "warn", wharf_enabled(WHARF_WARN));
    wharf_put_bool(&w, "error", wharf_enabled(WHARF_ERROR));
    wharf_put_end(&w);
    return report(&w);
}

/* The bytes in hex, or only their number if there are many. */
static void put_random(wharf_writer *w, uint32_t len) {
    wharf_str bytes = wharf_random(len);
    if (bytes.len > 64) {
        wharf_put_int(w, NULL, (int64_t)bytes.len);
        return;
    }
    char *hex = wharf_alloc(2 * bytes.len + 1);
    for (size_t i = 0; i < bytes.len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes.ptr[i]);
    }
    wharf_put_text(w, NULL, hex);
}

static wharf_result native_random(void) {
    wharf_writer w = {0};
    wharf_put_array(&w, NULL);
    put_random(&w, 8);
    put_random(&w, 8);
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result random_bytes(void) {
    wharf_writer w = {0};
    put_random(&w, (uint32_t)arg_int("len"));
    return report(&w);
}

static wharf_result print(void) {
    printf("%s\n", arg_string("message").ptr);
    return wharf_done();
}

bool host_command(const char *command, const wharf_event *event, wharf_result *result) {
    (void)event;
    if (is(command, "log")) {
        *result = line();
    } else if (is(command, "native-log")) {
        *result = native_log();
    } else if (is(command, "print")) {
        *result = print();
    } else if (is(command, "enabled")) {
        *result = enabled();
    } else if (is(command, "config-value")) {
        *result = report_string(wharf_get_raw(wharf_config, arg_string("pointer").ptr));
    } else if (is(command, "now") || is(command, "native-now")) {
        *result = report_int(wharf_now().seconds);
    } else if (is(command, "random")) {
        *result = random_bytes();
    } else if (is(command, "native-random")) {
        *result = native_random();
    } else {
        return false;
    }
    return true;
}
