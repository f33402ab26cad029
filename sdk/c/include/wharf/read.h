/* Typed reading by pointer, from the event, the configuration, or any JSON text. */
#ifndef WHARF_READ_H
#define WHARF_READ_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Something with JSON in it. Values are read from it by RFC 6901 pointers: the event's object,
 * whose bytes stay on the host until asked for, the configuration, or any JSON text.
 */
typedef struct wharf_view {
    uint8_t source; /* the SDK's own business */
    wharf_str text;
} wharf_view;

/* The object now; in wharf_delete its final state, which may be absent. */
extern const wharf_view wharf_current[1];
/* The object at the last successful call. Absent in wharf_add, maybe after a restart. */
extern const wharf_view wharf_previous[1];
/* The plugin's configuration; in wharf_validate the one that is asked about. */
extern const wharf_view wharf_config[1];
/* A JSON text, for example an answer of the cluster. */
const wharf_view *wharf_text(wharf_str json);

/* The JSON text at a pointer ("": all of it), as it stands there: a string with its quotes. */
wharf_str wharf_get_raw(const wharf_view *view, const char *pointer);
/* The same for several pointers, in one crossing; of an object at most 256 are looked up. */
void wharf_get_many(const wharf_view *view, const char *const *pointers, size_t count, wharf_str *values);

/*
 * Typed values. True, and `*value` is set, if there is one. If nothing is there, or null, `*value`
 * stays as it was: put the default there. A value of another type (in the configuration also a
 * null) is a read error, which ends the call unless it is caught: `permanent` with ObjectInvalid
 * for the event's object, `permanent` with ConfigInvalid for the configuration, `retry` with
 * ObjectInvalid for a text.
 */
bool wharf_get_string(const wharf_view *view, const char *pointer, wharf_str *value);
bool wharf_get_int(const wharf_view *view, const char *pointer, int64_t *value);
bool wharf_get_double(const wharf_view *view, const char *pointer, double *value);
bool wharf_get_bool(const wharf_view *view, const char *pointer, bool *value);
bool wharf_get_strings(const wharf_view *view, const char *pointer, wharf_strs *value);
/* A label and an annotation by key, which may have a prefix. */
bool wharf_get_label(const wharf_view *view, const char *key, wharf_str *value);
bool wharf_get_annotation(const wharf_view *view, const char *key, wharf_str *value);
/* One step of a pointer: `~` and `/` of a key escaped. */
wharf_str wharf_pointer_step(wharf_str key);

/*
 * The members of an object or the items of an array:
 *   for (wharf_iter i = wharf_each(json); wharf_next(&i);) use(i.name, i.value);
 * A text that is neither has none.
 */
typedef struct wharf_iter {
    wharf_str name;  /* of a member; absent for an item */
    wharf_str value; /* JSON text */
    const char *at;  /* the SDK's own business, as what follows */
    const char *end;
    bool object;
} wharf_iter;
wharf_iter wharf_each(wharf_str json);
bool wharf_next(wharf_iter *iter);

/*
 * Names all fields of the configuration; another one is an error: wharf_config_only("a", "b").
 * Read the configuration by a function of your own, from wharf_validate and from the handlers.
 */
#define wharf_config_only(...) wharf_config_fields((const char *const[]){__VA_ARGS__, NULL})
void wharf_config_fields(const char *const *names);

/* Only in wharf_validate: one sentence about what is wrong with the configuration. May be
   called several times. Read errors of the configuration become such sentences by themselves. */
void wharf_refuse(const char *format, ...) WHARF_PRINTF(1, 2);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
