/* Commands that read the event: the delivery, and the object as raw text and as types. */
#include "guest.h"

static wharf_result delivery(const wharf_event *e) {
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_text(&w, "event", wharf_change_word(e->change));
    wharf_put_object(&w, "kind");
    wharf_put_string(&w, "group", e->key.kind.group);
    wharf_put_string(&w, "version", e->key.kind.version);
    wharf_put_string(&w, "kind", e->key.kind.kind);
    wharf_put_end(&w);
    wharf_put_string(&w, "namespace", e->key.namespace_);
    wharf_put_string(&w, "name", e->key.name);
    wharf_put_string(&w, "uid", e->key.uid);
    wharf_put_string(&w, "resourceVersion", e->resource_version);
    wharf_put_bool(&w, "deleting", e->deleting);
    wharf_put_string(&w, "subscription", e->subscription);
    wharf_put_text(&w, "removal", wharf_removal_word(e->removal));
    wharf_put_bool(&w, "finalStateUnknown", e->final_state_unknown);
    wharf_put_text(&w, "cause", wharf_cause_word(e->cause));
    wharf_put_int(&w, "attempt", e->attempt);
    wharf_put_int(&w, "queuedMs", e->queued_ms);
    wharf_put_int(&w, "budgetMs", e->budget_ms);
    wharf_put_int(&w, "size", e->size);
    wharf_put_string(&w, "traceparent", e->traceparent);
    wharf_put_end(&w);
    return report(&w);
}

static const wharf_view *which(void) {
    return wharf_is(arg_string("which"), "previous") ? wharf_previous : wharf_current;
}

static wharf_result get_many(void) {
    size_t count;
    const char *const *pointers = arg_strings("pointers", &count);
    wharf_str *values = wharf_alloc((count + 1) * sizeof *values);
    wharf_get_many(which(), pointers, count, values);
    wharf_writer w = {0};
    wharf_put_array(&w, NULL);
    for (size_t i = 0; i < count; i++) {
        wharf_put_string(&w, NULL, values[i]);
    }
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result changed(void) {
    size_t count;
    const char *const *pointers = arg_strings("pointers", &count);
    bool *answers = wharf_alloc(count + 1);
    wharf_changed_each(pointers, count, answers);
    wharf_writer w = {0};
    wharf_put_array(&w, NULL);
    for (size_t i = 0; i < count; i++) {
        wharf_put_bool(&w, NULL, answers[i]);
    }
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result strings(const char *pointer) {
    wharf_strs list = {NULL, 0};
    wharf_writer w = {0};
    if (!wharf_get_strings(wharf_current, pointer, &list)) {
        return report_string(wharf_s(NULL));
    }
    wharf_put_array(&w, NULL);
    for (size_t i = 0; i < list.len; i++) {
        wharf_put_string(&w, NULL, list.items[i]);
    }
    wharf_put_end(&w);
    return report(&w);
}

/* The typed reads. An absent value is reported as null. */
static wharf_result typed(const char *command) {
    const char *pointer = arg_string("pointer").ptr;
    wharf_str text = wharf_s(NULL);
    int64_t integer;
    double number;
    bool boolean;
    wharf_writer w = {0};
    if (is(command, "strings")) {
        return strings(pointer);
    }
    if (is(command, "integer") && wharf_get_int(wharf_current, pointer, &integer)) {
        wharf_put_int(&w, NULL, integer);
    } else if (is(command, "number") && wharf_get_double(wharf_current, pointer, &number)) {
        wharf_put_double(&w, NULL, number);
    } else if (is(command, "boolean") && wharf_get_bool(wharf_current, pointer, &boolean)) {
        wharf_put_bool(&w, NULL, boolean);
    } else {
        if (is(command, "string")) {
            wharf_get_string(wharf_current, pointer, &text);
        }
        wharf_put_string(&w, NULL, text);
    }
    return report(&w);
}

static wharf_result copy(void) {
    wharf_str object = wharf_get_raw(which(), "");
    wharf_written written;
    if (!wharf_present(object)) {
        return report_string(object);
    }
    if (!wharf_cluster_create(object, NULL, &written, NULL)) {
        return wharf_done();
    }
    return report_string(written.resource_version);
}

static wharf_result object(void) {
    wharf_str json = wharf_get_raw(wharf_current, "");
    int64_t members = 0;
    if (!wharf_present(json)) {
        return report_string(json);
    }
    for (wharf_iter i = wharf_each(json); wharf_next(&i);) {
        members++;
    }
    return report_int(members);
}

static wharf_result remaining(const wharf_event *event) {
    uint32_t left = wharf_remaining_ms();
    return report_bool(left > 0 && left <= event->budget_ms);
}

bool read_command(const char *command, const wharf_event *event, wharf_result *result) {
    static const char *const types[] = {"string", "integer", "number", "boolean", "strings"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (is(command, types[i])) {
            *result = typed(command);
            return true;
        }
    }
    if (is(command, "delivery")) {
        *result = delivery(event);
    } else if (is(command, "get")) {
        *result = report_string(wharf_get_raw(which(), arg_string("pointer").ptr));
    } else if (is(command, "get-many")) {
        *result = get_many();
    } else if (is(command, "changed")) {
        *result = changed();
    } else if (is(command, "copy")) {
        *result = copy();
    } else if (is(command, "object")) {
        *result = object();
    } else if (is(command, "remaining")) {
        *result = remaining(event);
    } else {
        return false;
    }
    return true;
}
