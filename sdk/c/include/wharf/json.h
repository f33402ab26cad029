/* Writing JSON. */
#ifndef WHARF_JSON_H
#define WHARF_JSON_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Builds a JSON text. Each function puts one value: with a name inside an object, with NULL in
 * an array and at the top.
 *   wharf_writer w = {0};
 *   wharf_put_object(&w, NULL);
 *   wharf_put_text(&w, "kind", "ConfigMap");
 *   wharf_put_end(&w);
 *   wharf_str json = wharf_json(&w);
 * A wrong use is a mistake of the plugin and ends it by wharf_panic.
 */
typedef struct wharf_writer {
    char *ptr; /* the SDK's own business, all of it */
    size_t len, capacity;
    uint64_t objects; /* bit n: level n is an object */
    uint8_t depth;
    bool filled;
} wharf_writer;

void wharf_put_object(wharf_writer *writer, const char *name);
void wharf_put_array(wharf_writer *writer, const char *name);
/* Ends the innermost object or array. */
void wharf_put_end(wharf_writer *writer);
/* A string; null if it is absent. */
void wharf_put_string(wharf_writer *writer, const char *name, wharf_str value);
void wharf_put_text(wharf_writer *writer, const char *name, const char *value);
void wharf_put_int(wharf_writer *writer, const char *name, int64_t value);
/* The shortest text that reads back the same; null for what JSON has no number for. */
void wharf_put_double(wharf_writer *writer, const char *name, double value);
void wharf_put_bool(wharf_writer *writer, const char *name, bool value);
void wharf_put_null(wharf_writer *writer, const char *name);
/* A JSON text as it is; null if it is absent. */
void wharf_put_raw(wharf_writer *writer, const char *name, wharf_str json);
/* The text, once all objects and arrays have ended. */
wharf_str wharf_json(const wharf_writer *writer);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
