/* Text and the memory of a call. What is said of both in wharf.h holds. */
#ifndef WHARF_TEXT_H
#define WHARF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lets the compiler check the arguments of a format. */
#define WHARF_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* A text. Absent if `ptr` is NULL. */
typedef struct wharf_str {
    const char *ptr;
    size_t len;
} wharf_str;

/* A list of texts. */
typedef struct wharf_strs {
    wharf_str *items;
    size_t len;
} wharf_strs;

/* A C string as a text; NULL as an absent one. Copies nothing. */
static inline wharf_str wharf_s(const char *text) {
    wharf_str s = {text, text ? strlen(text) : 0};
    return s;
}

/* Is there a text? */
static inline bool wharf_present(wharf_str s) {
    return s.ptr != NULL;
}

/* Is it this one? */
static inline bool wharf_is(wharf_str s, const char *text) {
    return s.ptr && s.len == strlen(text) && memcmp(s.ptr, text, s.len) == 0;
}

/* Memory until the call ends, filled with zeros. Never NULL. */
void *wharf_alloc(size_t size);

/* A text as printf makes it. Use "%.*s" with (int)s.len, s.ptr, or "%s" with s.ptr. */
wharf_str wharf_format(const char *format, ...) WHARF_PRINTF(1, 2);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
