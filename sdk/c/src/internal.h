/*
 * What the SDK's files share and no plugin sees: the state of the running call, and the ways
 * between this SDK's types and those of the bindings.
 */
#ifndef WHARF_INTERNAL_H
#define WHARF_INTERNAL_H

#include <stdarg.h>

#include "../bindings/controller.h"
#include "wharf.h"

/* The running call. Starts anew with each. */
typedef struct wharf__call {
    bool validating;
    wharf_str config;      /* what is being validated */
    wharf_strs refusals;   /* of it */
    size_t refusals_room;
    bool failed;           /* an error that nobody has caught yet */
    wharf_result failure;
} wharf__call;

extern wharf__call wharf__running;

/* How a result ends. */
enum { WHARF__DONE, WHARF__REQUEUE, WHARF__RETRY, WHARF__PERMANENT };

/* Starts a call, and with it the life of all memory handed out from now on. */
void wharf__begin(void);
/* The call has ended. Its memory lives on until the next one takes its first byte. */
void wharf__end(void);
/* Memory of the call, aligned for anything, not cleared. */
void *wharf__take(size_t size);

/* A copy of some bytes, and a NUL behind it. */
wharf_str wharf__copy(const char *ptr, size_t len);
/* A text of several ones: up to a NULL. */
wharf_str wharf__join(const char *first, ...) __attribute__((sentinel));
/* The same text with a `?` for each byte that is no UTF-8: the host ends a call that hands one over. */
wharf_str wharf__utf8(wharf_str text);
/* wharf_format with a list of arguments. */
wharf_str wharf__vformat(const char *format, va_list arguments);
/* An integer as decimal digits. */
wharf_str wharf__digits(uint64_t value, bool negative);
/* A double as the shortest text that reads back the same. */
wharf_str wharf__double_text(double value);

/* A failure with a text that is at hand. */
wharf_result wharf__failure(uint8_t end, const char *reason, wharf_str message);
/* One more sentence about the configuration. */
void wharf__refuse(wharf_str sentence);
/* wharf_panic with a text that is at hand. Takes no memory if that is UTF-8. */
__attribute__((noreturn)) void wharf__panic(const char *text);
/* The end of a panic: a trap. A test kit puts its own in its place. */
__attribute__((noreturn)) void wharf__trap(void);

/* The JSON text of a string's content, without its quotes; false if it is malformed. */
bool wharf__unescape(wharf_str inner, wharf_str *text);
/* What stands at a pointer of a JSON text, in place: no copy, no NUL. */
wharf_str wharf__find(wharf_str json, const char *pointer);
/* "a string": what a JSON text is, for people. */
const char *wharf__kind(wharf_str json);

/* The JSON text of a description. */
wharf_str wharf__describe(const wharf_description *description);

/* A list of C strings as a list of the bindings. */
controller_list_string_t wharf__list(const char *const *texts, size_t count);
/* How many there are before NULL; none in NULL. */
size_t wharf__count(const char *const *texts);
wharf_plugin_types_object_ref_t wharf__to_ref(const wharf_object_ref *ref);
wharf_plugin_types_gvk_t wharf__to_gvk(const wharf_gvk *kind);

/* Texts have the same parts on both sides. */
static inline controller_string_t wharf__to(wharf_str s) {
    controller_string_t text = {(uint8_t *)s.ptr, s.len};
    return text;
}

static inline controller_string_t wharf__to_c(const char *s) {
    return wharf__to(wharf_s(s ? s : ""));
}

static inline controller_option_string_t wharf__to_option(wharf_str s) {
    controller_option_string_t option = {s.ptr != NULL, wharf__to(s)};
    return option;
}

/* The host may give any address for nothing at all. */
static inline wharf_str wharf__from(controller_string_t s) {
    wharf_str text = {s.len ? (const char *)s.ptr : "", s.len};
    return text;
}

static const wharf_str wharf__absent = {NULL, 0};

#endif
