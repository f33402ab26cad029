/*
 * Looking into JSON texts without reading all of them into memory: walking, pointers, strings.
 * The host hands out valid JSON; a text that is none is never read past its end, and nothing is
 * found in it. No recursion: depth costs nothing.
 */
#include "internal.h"

static void skip_space(wharf_iter *i) {
    while (i->at < i->end && (*i->at == ' ' || *i->at == '\t' || *i->at == '\n' || *i->at == '\r')) {
        i->at++;
    }
}

/* Past a string, of which `at` is the opening quote. */
static void skip_string(wharf_iter *i) {
    for (i->at++; i->at < i->end && *i->at != '"'; i->at++) {
        if (*i->at == '\\') {
            i->at++;
        }
    }
    i->at = i->at < i->end ? i->at + 1 : i->end;
}

/* Past an object or an array. */
static void skip_nested(wharf_iter *i) {
    size_t depth = 0;
    while (i->at < i->end) {
        char c = *i->at;
        if (c == '"') {
            skip_string(i);
            continue;
        }
        i->at++;
        if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return;
        }
    }
}

/* The value that begins at `at`, in place; empty if there is none. */
static wharf_str value_here(wharf_iter *i) {
    skip_space(i);
    const char *start = i->at;
    if (i->at < i->end && *i->at == '"') {
        skip_string(i);
    } else if (i->at < i->end && (*i->at == '{' || *i->at == '[')) {
        skip_nested(i);
    } else {
        while (i->at < i->end && !strchr(",]} \t\r\n", *i->at)) {
            i->at++;
        }
    }
    wharf_str value = {start, (size_t)(i->at - start)};
    return value;
}

/* Past a character that must come now. */
static bool expect(wharf_iter *i, char c) {
    skip_space(i);
    if (i->at < i->end && *i->at == c) {
        i->at++;
        return true;
    }
    return false;
}

/* wharf_next without copies: a name is as it stands between the quotes. */
static bool next_here(wharf_iter *i) {
    i->name = wharf__absent;
    skip_space(i);
    if (i->at >= i->end || *i->at == '}' || *i->at == ']') {
        return false;
    }
    if (i->object) {
        wharf_str name = value_here(i);
        if (name.len < 2 || name.ptr[0] != '"' || !expect(i, ':')) {
            i->at = i->end;
            return false;
        }
        i->name.ptr = name.ptr + 1;
        i->name.len = name.len - 2;
    }
    i->value = value_here(i);
    expect(i, ',');
    return i->value.len > 0;
}

wharf_iter wharf_each(wharf_str json) {
    wharf_iter i = {wharf__absent, wharf__absent, json.ptr, json.ptr ? json.ptr + json.len : NULL, false};
    i.object = expect(&i, '{');
    if (!i.object && !expect(&i, '[')) {
        i.at = i.end;
    }
    return i;
}

bool wharf_next(wharf_iter *i) {
    if (!next_here(i)) {
        return false;
    }
    if (i->object && !wharf__unescape(i->name, &i->name)) {
        i->name = wharf_s("");
    }
    i->value = wharf__copy(i->value.ptr, i->value.len);
    return true;
}

/* One step of a pointer, `~1` and `~0` replaced; `*pointer` goes to the next one. */
static wharf_str step(const char **pointer) {
    const char *end = *pointer + 1 + strcspn(*pointer + 1, "/");
    char *text = wharf__take((size_t)(end - *pointer));
    size_t len = 0;
    for (const char *c = *pointer + 1; c < end; c++) {
        bool escaped = c[0] == '~' && (c[1] == '0' || c[1] == '1');
        text[len++] = escaped ? (c[1] == '0' ? '~' : '/') : *c;
        c += escaped;
    }
    *pointer = end;
    wharf_str result = {text, len};
    return result;
}

static bool same(wharf_str a, wharf_str b) {
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static bool is_member(wharf_str name, wharf_str wanted) {
    if (!memchr(name.ptr, '\\', name.len)) {
        return same(name, wanted);
    }
    wharf_str plain;
    return wharf__unescape(name, &plain) && same(plain, wanted);
}

/* An index as RFC 6901 has it: digits without a leading zero. */
static bool index_of(wharf_str step, size_t *index) {
    *index = 0;
    if (step.len == 0 || step.len > 9 || (step.ptr[0] == '0' && step.len > 1)) {
        return false;
    }
    for (size_t n = 0; n < step.len; n++) {
        if (step.ptr[n] < '0' || step.ptr[n] > '9') {
            return false;
        }
        *index = *index * 10 + (size_t)(step.ptr[n] - '0');
    }
    return true;
}

static wharf_str child(wharf_str json, wharf_str step) {
    wharf_iter i = wharf_each(json);
    size_t index = 0;
    if (!i.object && !index_of(step, &index)) {
        return wharf__absent;
    }
    while (next_here(&i)) {
        if (i.object ? is_member(i.name, step) : index-- == 0) {
            return i.value;
        }
    }
    return wharf__absent;
}

wharf_str wharf__find(wharf_str json, const char *pointer) {
    if (!json.ptr || (*pointer && *pointer != '/')) {
        return wharf__absent;
    }
    wharf_iter whole = {wharf__absent, wharf__absent, json.ptr, json.ptr + json.len, false};
    wharf_str found = value_here(&whole);
    while (found.len && *pointer) {
        found = child(found, step(&pointer));
    }
    return found.len ? found : wharf__absent;
}

const char *wharf__kind(wharf_str json) {
    switch (json.len ? *json.ptr : '\0') {
    case '"': return "a string";
    case '{': return "an object";
    case '[': return "a list";
    case 't':
    case 'f': return "a boolean";
    case 'n': return "null";
    default: return "a number";
    }
}

/* Four hexadecimal digits; false if they are not. */
static bool hex4(const char *c, const char *end, uint32_t *code) {
    *code = 0;
    if (end - c < 4) {
        return false;
    }
    for (int n = 0; n < 4; n++) {
        char digit = (char)(c[n] | 0x20);
        bool letter = digit >= 'a' && digit <= 'f';
        if (!letter && (c[n] < '0' || c[n] > '9')) {
            return false;
        }
        *code = *code * 16 + (uint32_t)(letter ? digit - 'a' + 10 : c[n] - '0');
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

/* After `\u`: one code point, or half a pair that stands alone, which is no text (U+FFFD). */
static const char *unicode(const char *c, const char *end, char **to) {
    uint32_t code, low;
    if (!hex4(c, end, &code)) {
        return NULL;
    }
    c += 4;
    if (code >= 0xD800 && code < 0xE000) {
        bool pair = code < 0xDC00 && end - c >= 6 && c[0] == '\\' && c[1] == 'u' && hex4(c + 2, end, &low) &&
                    low >= 0xDC00 && low < 0xE000;
        code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
        c += pair ? 6 : 0;
    }
    *to = put_utf8(*to, code);
    return c;
}

bool wharf__unescape(wharf_str inner, wharf_str *text) {
    static const char escapes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *c = inner.ptr, *end = inner.ptr + inner.len;
    char *bytes = wharf__take(inner.len + 1), *to = bytes;
    while (c < end) {
        if (*c != '\\') {
            *to++ = *c++;
            continue;
        }
        if (++c == end) {
            return false;
        }
        if (*c == 'u') {
            c = unicode(c + 1, end, &to);
            if (!c) {
                return false;
            }
            continue;
        }
        const char *escape = memchr(escapes, *c++, sizeof escapes - 1);
        if (!escape) {
            return false;
        }
        *to++ = values[escape - escapes];
    }
    *to = '\0';
    text->ptr = bytes;
    text->len = (size_t)(to - bytes);
    return true;
}
