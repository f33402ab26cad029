/* Writing JSON into the memory of the call. Owns that what comes out is valid. */
#include <math.h>

#include "internal.h"

enum { MAX_DEPTH = 63 };

static void append(wharf_writer *w, const char *bytes, size_t len) {
    if (w->capacity - w->len <= len) {
        size_t capacity = 2 * w->capacity + len + 64;
        char *grown = wharf__take(capacity);
        if (w->len) {
            memcpy(grown, w->ptr, w->len);
        }
        w->ptr = grown;
        w->capacity = capacity;
    }
    memcpy(w->ptr + w->len, bytes, len);
    w->len += len;
    w->ptr[w->len] = '\0';
}

/* A quote, a backslash or a control character. */
static void append_escape(wharf_writer *w, unsigned char c) {
    static const char hex[] = "0123456789abcdef", from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";
    const char *letter = memchr(from, c, sizeof from - 1);
    const char escape[6] = {'\\', letter ? to[letter - from] : 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    append(w, escape, letter ? 2 : 6);
}

static void append_string(wharf_writer *w, wharf_str s) {
    append(w, "\"", 1);
    s = wharf__utf8(s);
    size_t done = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        append(w, s.ptr + done, i - done);
        done = i + 1;
        append_escape(w, c);
    }
    append(w, s.ptr + done, s.len - done);
    append(w, "\"", 1);
}

/* What comes before a value: a comma, a name. */
static void begin_value(wharf_writer *w, const char *name) {
    bool object = w->depth && (w->objects >> w->depth & 1);
    if (object != (name != NULL)) {
        wharf__panic(object ? "wharf_put: a member of an object needs a name"
                            : "wharf_put: a name outside of an object");
    }
    if (w->filled) {
        if (!w->depth) {
            wharf__panic("wharf_put: a JSON text is one value");
        }
        append(w, ",", 1);
    }
    w->filled = true;
    if (name) {
        append_string(w, wharf_s(name));
        append(w, ":", 1);
    }
}

static void put(wharf_writer *w, const char *name, wharf_str json) {
    begin_value(w, name);
    append(w, json.ptr, json.len);
}

static void begin_nested(wharf_writer *w, const char *name, bool object) {
    put(w, name, wharf_s(object ? "{" : "["));
    if (w->depth == MAX_DEPTH) {
        wharf__panic("wharf_put: more than 63 levels; put what is deeper by wharf_put_raw");
    }
    w->depth++;
    w->objects = (w->objects & ~(1ULL << w->depth)) | (uint64_t)object << w->depth;
    w->filled = false;
}

void wharf_put_object(wharf_writer *w, const char *name) {
    begin_nested(w, name, true);
}

void wharf_put_array(wharf_writer *w, const char *name) {
    begin_nested(w, name, false);
}

void wharf_put_end(wharf_writer *w) {
    if (!w->depth) {
        wharf__panic("wharf_put_end: nothing has begun");
    }
    append(w, w->objects >> w->depth & 1 ? "}" : "]", 1);
    w->depth--;
    w->filled = true;
}

void wharf_put_string(wharf_writer *w, const char *name, wharf_str value) {
    if (!value.ptr) {
        wharf_put_null(w, name);
        return;
    }
    begin_value(w, name);
    append_string(w, value);
}

void wharf_put_text(wharf_writer *w, const char *name, const char *value) {
    wharf_put_string(w, name, wharf_s(value));
}

void wharf_put_int(wharf_writer *w, const char *name, int64_t value) {
    put(w, name, wharf__digits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0));
}

void wharf_put_double(wharf_writer *w, const char *name, double value) {
    put(w, name, isfinite(value) ? wharf__double_text(value) : wharf_s("null"));
}

void wharf_put_bool(wharf_writer *w, const char *name, bool value) {
    put(w, name, wharf_s(value ? "true" : "false"));
}

void wharf_put_null(wharf_writer *w, const char *name) {
    put(w, name, wharf_s("null"));
}

void wharf_put_raw(wharf_writer *w, const char *name, wharf_str json) {
    put(w, name, json.ptr ? json : wharf_s("null"));
}

wharf_str wharf_json(const wharf_writer *w) {
    if (w->depth || !w->filled) {
        wharf__panic("wharf_json: an object or array has no end, or nothing was put");
    }
    wharf_str json = {w->ptr, w->len};
    return json;
}
