/*
 * Typed reading from a view. Owns what a wrong type means for the call; where the text of a
 * value comes from is the host's business, or json.c's.
 */
#include <math.h>
#include <stdlib.h>

#include "internal.h"

enum { CURRENT = WHARF_PLUGIN_EVENT_REVISION_CURRENT, PREVIOUS = WHARF_PLUGIN_EVENT_REVISION_PREVIOUS, CONFIG, TEXT };

const wharf_view wharf_current[1] = {{CURRENT, {NULL, 0}}};
const wharf_view wharf_previous[1] = {{PREVIOUS, {NULL, 0}}};
const wharf_view wharf_config[1] = {{CONFIG, {NULL, 0}}};

const wharf_view *wharf_text(wharf_str json) {
    wharf_view *view = wharf_alloc(sizeof *view);
    view->source = TEXT;
    view->text = json;
    return view;
}

static wharf_str find_copy(wharf_str json, const char *pointer) {
    wharf_str found = wharf__find(json, pointer);
    return found.ptr ? wharf__copy(found.ptr, found.len) : found;
}

static wharf_str config_raw(const char *pointer) {
    if (wharf__running.validating) {
        return find_copy(wharf__running.config, pointer);
    }
    controller_string_t text = wharf__to_c(pointer), value;
    if (!*pointer) {
        wharf_plugin_config_json(&value);
        return wharf__from(value);
    }
    return wharf_plugin_config_get(&text, &value) ? wharf__from(value) : wharf__absent;
}

static wharf_str event_raw(uint8_t which, const char *pointer) {
    controller_string_t text = wharf__to_c(pointer), value;
    bool found = *pointer ? wharf_plugin_event_get(which, &text, &value) : wharf_plugin_event_json(which, &value);
    return found ? wharf__from(value) : wharf__absent;
}

wharf_str wharf_get_raw(const wharf_view *view, const char *pointer) {
    if (wharf__running.failed) {
        return wharf__absent;
    }
    switch (view->source) {
    case CONFIG: return config_raw(pointer);
    case TEXT: return find_copy(view->text, pointer);
    default: return event_raw(view->source, pointer);
    }
}

void wharf_get_many(const wharf_view *view, const char *const *pointers, size_t count, wharf_str *values) {
    if (view->source > PREVIOUS || wharf__running.failed) {
        for (size_t i = 0; i < count; i++) {
            values[i] = wharf_get_raw(view, pointers[i]);
        }
        return;
    }
    controller_list_string_t texts = wharf__list(pointers, count);
    controller_list_option_string_t found;
    wharf_plugin_event_get_many(view->source, &texts, &found);
    for (size_t i = 0; i < count; i++) {
        values[i] = i < found.len && found.ptr[i].is_some ? wharf__from(found.ptr[i].val) : wharf__absent;
    }
}

/* What is there has another type. */
static bool wrong(const wharf_view *view, const char *pointer, const char *wanted, wharf_str found) {
    bool config = view->source == CONFIG;
    const char *what = *pointer ? pointer : config ? "" : "the object";
    /* A number is short, and says more than its type. */
    bool number = found.len <= 32 && strchr("-0123456789", *found.ptr);
    const char *text = number ? wharf__copy(found.ptr, found.len).ptr : wharf__kind(found);
    wharf_str message = wharf__join(config ? "config" : "", what, config ? ": " : " cannot be read: ", "expected ",
                                    wanted, ", found ", text, NULL);
    if (config && wharf__running.validating) {
        wharf__refuse(message);
        return false;
    }
    uint8_t end = view->source == TEXT ? WHARF__RETRY : WHARF__PERMANENT;
    wharf_fail(wharf__failure(end, config ? "ConfigInvalid" : "ObjectInvalid", message));
    return false;
}

static bool parse_string(wharf_str json, wharf_str *value) {
    if (json.len < 2 || json.ptr[0] != '"' || json.ptr[json.len - 1] != '"') {
        return false;
    }
    wharf_str inner = {json.ptr + 1, json.len - 2};
    return wharf__unescape(inner, value);
}

static bool parse_int(wharf_str json, int64_t *value) {
    bool negative = *json.ptr == '-';
    size_t i = negative;
    uint64_t limit = (uint64_t)INT64_MAX + negative, sum = 0;
    for (; i < json.len; i++) {
        unsigned digit = (unsigned)(json.ptr[i] - '0');
        if (digit > 9 || sum > (limit - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    if (json.len == (size_t)negative) {
        return false;
    }
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

static bool parse_double(wharf_str json, double *value) {
    char *end;
    if (!strchr("-0123456789", *json.ptr)) {
        return false;
    }
    double parsed = strtod(json.ptr, &end);
    if (end != json.ptr + json.len || isinf(parsed)) {
        return false;
    }
    *value = parsed;
    return true;
}

static bool parse_bool(wharf_str json, bool *value) {
    bool yes = wharf_is(json, "true");
    if (!yes && !wharf_is(json, "false")) {
        return false;
    }
    *value = yes;
    return true;
}

/* All typed readers are alike: nothing there is no error, and null is nothing; but who writes null
   into a configuration means something by it, and no type has it. */
static bool found(const wharf_view *view, const char *pointer, wharf_str *json) {
    *json = wharf_get_raw(view, pointer);
    return json->ptr && (view->source == CONFIG || !wharf_is(*json, "null"));
}

bool wharf_get_string(const wharf_view *view, const char *pointer, wharf_str *value) {
    wharf_str json;
    if (!found(view, pointer, &json)) {
        return false;
    }
    return parse_string(json, value) || wrong(view, pointer, "a string", json);
}

bool wharf_get_int(const wharf_view *view, const char *pointer, int64_t *value) {
    wharf_str json;
    if (!found(view, pointer, &json)) {
        return false;
    }
    return parse_int(json, value) || wrong(view, pointer, "an integer of 64 bits", json);
}

bool wharf_get_double(const wharf_view *view, const char *pointer, double *value) {
    wharf_str json;
    if (!found(view, pointer, &json)) {
        return false;
    }
    return parse_double(json, value) || wrong(view, pointer, "a number of double precision", json);
}

bool wharf_get_bool(const wharf_view *view, const char *pointer, bool *value) {
    wharf_str json;
    if (!found(view, pointer, &json)) {
        return false;
    }
    return parse_bool(json, value) || wrong(view, pointer, "a boolean", json);
}

bool wharf_get_strings(const wharf_view *view, const char *pointer, wharf_strs *value) {
    wharf_str json;
    if (!found(view, pointer, &json)) {
        return false;
    }
    if (*json.ptr != '[') {
        return wrong(view, pointer, "a list of strings", json);
    }
    wharf_strs list = {NULL, 0};
    size_t count = 0;
    for (wharf_iter i = wharf_each(json); wharf_next(&i);) {
        count++;
    }
    list.items = wharf_alloc(count * sizeof *list.items + 1);
    for (wharf_iter i = wharf_each(json); list.len < count && wharf_next(&i); list.len++) {
        if (!parse_string(i.value, &list.items[list.len])) {
            const char *item = wharf__join(pointer, "/", wharf__digits(list.len, false).ptr, NULL).ptr;
            return wrong(view, item, "a string", i.value);
        }
    }
    *value = list;
    return true;
}

wharf_str wharf_pointer_step(wharf_str key) {
    char *bytes = wharf__take(2 * key.len + 1), *to = bytes;
    for (size_t i = 0; i < key.len; i++) {
        bool special = key.ptr[i] == '~' || key.ptr[i] == '/';
        *to++ = special ? '~' : key.ptr[i];
        if (special) {
            *to++ = key.ptr[i] == '~' ? '0' : '1';
        }
    }
    *to = '\0';
    wharf_str step = {bytes, (size_t)(to - bytes)};
    return step;
}

static bool get_metadata(const wharf_view *view, const char *map, const char *key, wharf_str *value) {
    return wharf_get_string(view, wharf__join(map, wharf_pointer_step(wharf_s(key)).ptr, NULL).ptr, value);
}

bool wharf_get_label(const wharf_view *view, const char *key, wharf_str *value) {
    return get_metadata(view, "/metadata/labels/", key, value);
}

bool wharf_get_annotation(const wharf_view *view, const char *key, wharf_str *value) {
    return get_metadata(view, "/metadata/annotations/", key, value);
}

void wharf_config_fields(const char *const *names) {
    for (wharf_iter i = wharf_each(wharf_get_raw(wharf_config, "")); wharf_next(&i);) {
        size_t n = 0;
        while (names[n] && !wharf_is(i.name, names[n])) {
            n++;
        }
        if (!names[n]) {
            wharf_str message = wharf__join("config: unknown field `", i.name.ptr, "`", NULL);
            if (wharf__running.validating) {
                wharf__refuse(message);
            } else {
                wharf_fail(wharf__failure(WHARF__PERMANENT, "ConfigInvalid", message));
            }
        }
    }
}
