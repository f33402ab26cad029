/* Arguments and answers. */
#include "guest.h"

wharf_result report(const wharf_writer *writer) {
    wharf_info("result", wharf_kv("value", wharf_json(writer)));
    return wharf_done();
}

wharf_result report_string(wharf_str value) {
    wharf_writer w = {0};
    wharf_put_string(&w, NULL, value);
    return report(&w);
}

wharf_result report_int(int64_t value) {
    wharf_writer w = {0};
    wharf_put_int(&w, NULL, value);
    return report(&w);
}

wharf_result report_bool(bool value) {
    wharf_writer w = {0};
    wharf_put_bool(&w, NULL, value);
    return report(&w);
}

static const char *pointer(const char *name) {
    return wharf_format("/args/%s", name).ptr;
}

wharf_str arg_string(const char *name) {
    wharf_str value = wharf_s("");
    wharf_get_string(wharf_current, pointer(name), &value);
    return value;
}

int64_t arg_int(const char *name) {
    int64_t value = 0;
    wharf_get_int(wharf_current, pointer(name), &value);
    return value;
}

bool arg_bool(const char *name) {
    bool value = false;
    wharf_get_bool(wharf_current, pointer(name), &value);
    return value;
}

const char *const *arg_strings(const char *name, size_t *count) {
    wharf_strs list = {NULL, 0};
    wharf_get_strings(wharf_current, pointer(name), &list);
    const char **texts = wharf_alloc((list.len + 1) * sizeof *texts);
    for (size_t i = 0; i < list.len; i++) {
        texts[i] = list.items[i].ptr;
    }
    if (count) {
        *count = list.len;
    }
    return texts;
}

wharf_str arg_raw(const char *name) {
    return wharf_get_raw(wharf_current, pointer(name));
}
