/* What the mock's files share: its state, and memory that lives as long as a test. */
#ifndef WHARF_MOCK_H
#define WHARF_MOCK_H

#include "../src/internal.h"
#include "wharf_testing.h"

enum { MOCK_MAX = 256 };

typedef struct {
    wharf_level level;
    const char *message;
    size_t count;
    const char *names[32];
    const char *values[32];
} mock_line;

typedef struct {
    test_operation operation;
    wharf_api_code code;
    const char *text;
    uint32_t retry_after_ms;
} mock_failure;

typedef struct {
    const char *target;
    const char *uid;
    const char *json;
} mock_object;

typedef struct {
    const char *config, *current, *previous;
    wharf_level log_level;
    uint32_t seconds;
    uint32_t version;
    size_t lines, failures, objects, writes, events, refusals;
    mock_line line[MOCK_MAX];
    mock_failure failure[MOCK_MAX];
    mock_object object[MOCK_MAX];
    test_write write[MOCK_MAX];
    test_event event[MOCK_MAX];
    const char *refusal[MOCK_MAX];
} mock_state;

extern mock_state mock;

/* A copy that lives until the test ends. */
const char *mock_copy(const char *ptr, size_t len);
const char *mock_text(controller_string_t text);
/* How the plugin gives memory to the host: the SDK's, as the component's. */
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size);
/* Hands a text to the plugin as the host does: into memory that the plugin gives. */
controller_string_t mock_give(const char *text, size_t len);
/* The next place of a list, if the test has not too many. */
size_t mock_next(size_t *count);

/* "v1 ConfigMap team-a/web" */
const char *mock_target(const wharf_plugin_types_object_ref_t *ref);
/* The key of an object, from its JSON. */
wharf_object_ref mock_key(const char *json);

#endif
