/* The host's functions but for the cluster's, as the bindings declare them. */
#include <stdio.h>
#include <stdlib.h>

#include "mock.h"

const char *mock_text(controller_string_t text) {
    return mock_copy((const char *)text.ptr, text.len);
}

controller_string_t mock_give(const char *text, size_t len) {
    uint8_t *bytes = cabi_realloc(NULL, 0, 1, len);
    memcpy(bytes, text, len);
    controller_string_t given = {bytes, len};
    return given;
}

static bool lookup(const char *json, controller_string_t *pointer, controller_string_t *found) {
    wharf_str value = wharf__find(wharf_s(json), (const char *)pointer->ptr);
    if (value.ptr) {
        *found = mock_give(value.ptr, value.len);
    }
    return value.ptr;
}

static const char *revision(wharf_plugin_event_revision_t which) {
    return which == WHARF_PLUGIN_EVENT_REVISION_CURRENT ? mock.current : mock.previous;
}

bool wharf_plugin_event_get(wharf_plugin_event_revision_t which, controller_string_t *pointer,
                            controller_string_t *ret) {
    return lookup(revision(which), pointer, ret);
}

void wharf_plugin_event_get_many(wharf_plugin_event_revision_t which, controller_list_string_t *pointers,
                                 controller_list_option_string_t *ret) {
    ret->len = pointers->len;
    ret->ptr = cabi_realloc(NULL, 0, sizeof(void *), pointers->len * sizeof *ret->ptr);
    for (size_t i = 0; i < pointers->len; i++) {
        ret->ptr[i].is_some = lookup(revision(which), &pointers->ptr[i], &ret->ptr[i].val);
    }
}

bool wharf_plugin_event_json(wharf_plugin_event_revision_t which, controller_string_t *ret) {
    const char *json = revision(which);
    if (json) {
        *ret = mock_give(json, strlen(json));
    }
    return json;
}

void wharf_plugin_event_changed(controller_list_string_t *pointers, controller_list_bool_t *ret) {
    ret->len = pointers->len;
    ret->ptr = cabi_realloc(NULL, 0, 1, pointers->len);
    for (size_t i = 0; i < pointers->len; i++) {
        const char *pointer = (const char *)pointers->ptr[i].ptr;
        wharf_str now = wharf__find(wharf_s(mock.current), pointer);
        wharf_str then = wharf__find(wharf_s(mock.previous), pointer);
        bool same = now.len == then.len && (!now.len || !memcmp(now.ptr, then.ptr, now.len));
        ret->ptr[i] = !mock.previous || !same;
    }
}

uint32_t wharf_plugin_event_remaining_ms(void) {
    return mock.current ? 1000 : 0;
}

void wharf_plugin_system_now(wharf_plugin_system_timestamp_t *ret) {
    ret->seconds = mock.seconds;
    ret->nanoseconds = 0;
}

/* The same bytes in every run of a test. */
void wharf_plugin_system_random(uint32_t len, controller_list_u8_t *ret) {
    ret->len = len > 65536 ? 65536 : len;
    ret->ptr = cabi_realloc(NULL, 0, 1, ret->len);
    for (size_t i = 0; i < ret->len; i++) {
        ret->ptr[i] = (uint8_t)(i * 37 + 11);
    }
}

bool wharf_plugin_log_enabled(wharf_plugin_log_level_t level) {
    return level >= mock.log_level;
}

void wharf_plugin_log_emit(wharf_plugin_log_level_t level, controller_string_t *message,
                           controller_list_tuple2_string_string_t *fields) {
    if (level < mock.log_level) {
        return;
    }
    mock_line *line = &mock.line[mock_next(&mock.lines)];
    line->level = (wharf_level)level;
    line->message = mock_text(*message);
    line->count = 0;
    for (size_t i = 0; i < fields->len && i < 32; i++, line->count++) {
        line->names[i] = mock_text(fields->ptr[i].f0);
        line->values[i] = mock_text(fields->ptr[i].f1);
    }
}

void wharf_plugin_config_json(controller_string_t *ret) {
    *ret = mock_give(mock.config, strlen(mock.config));
}

bool wharf_plugin_config_get(controller_string_t *pointer, controller_string_t *ret) {
    return lookup(mock.config, pointer, ret);
}

void test_now(uint32_t seconds) {
    mock.seconds = seconds;
}

void test_log_level(wharf_level level) {
    mock.log_level = level;
}

size_t test_log_count(void) {
    return mock.lines;
}

static const mock_line *line_at(size_t index) {
    if (index >= mock.lines) {
        fprintf(stderr, "there are %zu log lines, and no line %zu\n", mock.lines, index);
        exit(1);
    }
    return &mock.line[index];
}

wharf_level test_log_level_of(size_t index) {
    return line_at(index)->level;
}

const char *test_log_message(size_t index) {
    return line_at(index)->message;
}

const char *test_log_field(size_t index, const char *name) {
    const mock_line *line = line_at(index);
    for (size_t i = 0; i < line->count; i++) {
        if (!strcmp(line->names[i], name)) {
            return line->values[i];
        }
    }
    return NULL;
}
