/* Making texts in the memory of the call. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

wharf_str wharf__copy(const char *ptr, size_t len) {
    char *bytes = wharf__take(len + 1);
    memcpy(bytes, ptr, len);
    bytes[len] = '\0';
    wharf_str text = {bytes, len};
    return text;
}

wharf_str wharf__join(const char *first, ...) {
    va_list parts;
    size_t len = 0;
    va_start(parts, first);
    for (const char *part = first; part; part = va_arg(parts, const char *)) {
        len += strlen(part);
    }
    va_end(parts);
    char *bytes = wharf__take(len + 1), *end = bytes;
    va_start(parts, first);
    for (const char *part = first; part; part = va_arg(parts, const char *)) {
        size_t size = strlen(part);
        memcpy(end, part, size);
        end += size;
    }
    va_end(parts);
    *end = '\0';
    wharf_str text = {bytes, len};
    return text;
}

wharf_str wharf__digits(uint64_t value, bool negative) {
    char digits[24];
    char *start = digits + sizeof digits;
    do {
        *--start = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative) {
        *--start = '-';
    }
    return wharf__copy(start, (size_t)(digits + sizeof digits - start));
}

wharf_str wharf__double_text(double value) {
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return wharf__copy(text, strlen(text));
}

wharf_str wharf__vformat(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, arguments);
    if (len < 0) {
        wharf__panic("wharf_format: the format is not one of printf");
    }
    char *bytes = wharf__take((size_t)len + 1);
    vsnprintf(bytes, (size_t)len + 1, format, again);
    va_end(again);
    wharf_str text = {bytes, (size_t)len};
    return text;
}

wharf_str wharf_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    wharf_str text = wharf__vformat(format, arguments);
    va_end(arguments);
    return text;
}

/* Bytes of the character that begins here; 0 if none does. */
static size_t character(const unsigned char *c, size_t left) {
    unsigned char first = c[0];
    size_t len = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (len > left) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((c[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* Too long for what they say, halves of pairs, and what is behind the last one. */
    bool none = (first == 0xE0 && c[1] < 0xA0) || (first == 0xED && c[1] >= 0xA0) || (first == 0xF0 && c[1] < 0x90) ||
                (first == 0xF4 && c[1] >= 0x90);
    return none ? 0 : len;
}

wharf_str wharf__utf8(wharf_str text) {
    char *clean = NULL;
    for (size_t i = 0; i < text.len;) {
        size_t len = character((const unsigned char *)text.ptr + i, text.len - i);
        if (!len) {
            if (!clean) {
                text = wharf__copy(text.ptr, text.len);
                clean = (char *)text.ptr;
            }
            clean[i] = '?';
        }
        i += len ? len : 1;
    }
    return text;
}

size_t wharf__count(const char *const *texts) {
    size_t count = 0;
    while (texts && texts[count]) {
        count++;
    }
    return count;
}

controller_list_string_t wharf__list(const char *const *texts, size_t count) {
    controller_list_string_t list = {NULL, count};
    list.ptr = wharf__take(count * sizeof *list.ptr + 1);
    for (size_t i = 0; i < count; i++) {
        list.ptr[i] = wharf__to_c(texts[i]);
    }
    return list;
}
