/* The description as JSON, in the words of the Plugin document. */
#include "internal.h"

static const char *const sdk_reasons[] = {"ConfigInvalid", "ObjectInvalid",     "GrantMissing", "Forbidden",
                                          "Conflict",      "ServerUnavailable", "ApiError",     "HandlerError"};

static void put_if(wharf_writer *w, const char *name, const char *value) {
    if (value) {
        wharf_put_text(w, name, value);
    }
}

static void put_subscription(wharf_writer *w, const wharf_subscription *s) {
    wharf_put_object(w, NULL);
    wharf_put_text(w, "name", s->name);
    wharf_put_text(w, "apiVersion", s->api_version);
    wharf_put_text(w, "kind", s->kind);
    put_if(w, "labelSelector", s->label_selector);
    put_if(w, "fieldSelector", s->field_selector);
    if (s->events) {
        wharf_put_array(w, "events");
        for (unsigned change = WHARF_ADD; change <= WHARF_DELETE && !(s->events & WHARF_CACHED_ONLY); change <<= 1) {
            if (s->events & change) {
                wharf_put_text(w, NULL, wharf_change_word((wharf_change)change));
            }
        }
        wharf_put_end(w);
    }
    if (s->only_if_changed) {
        wharf_put_array(w, "onlyIfChanged");
        for (const char *const *pointer = s->only_if_changed; *pointer; pointer++) {
            wharf_put_text(w, NULL, *pointer);
        }
        wharf_put_end(w);
    }
    put_if(w, "filter", s->filter);
    if (s->ignore_own_writes) {
        wharf_put_bool(w, "ignoreOwnWrites", true);
    }
    if (s->map.to) {
        wharf_put_object(w, "map");
        wharf_put_text(w, "to", s->map.to);
        put_if(w, "owner", s->map.owner);
        put_if(w, "label", s->map.label);
        put_if(w, "annotation", s->map.annotation);
        put_if(w, "field", s->map.field);
        wharf_put_end(w);
    }
    wharf_put_end(w);
}

/* The host refuses a list that has one twice. */
static bool is_sdk_reason(const char *reason) {
    for (size_t i = 0; i < sizeof sdk_reasons / sizeof *sdk_reasons; i++) {
        if (!strcmp(reason, sdk_reasons[i])) {
            return true;
        }
    }
    return false;
}

static void put_reasons(wharf_writer *w, const char *const *own) {
    wharf_put_array(w, "reasons");
    for (size_t i = 0; i < WHARF_MAX_REASONS && own[i]; i++) {
        if (!is_sdk_reason(own[i])) {
            wharf_put_text(w, NULL, own[i]);
        }
    }
    for (size_t i = 0; i < sizeof sdk_reasons / sizeof *sdk_reasons; i++) {
        wharf_put_text(w, NULL, sdk_reasons[i]);
    }
    wharf_put_end(w);
}

static void put_ms(wharf_writer *w, const char *name, uint32_t ms) {
    if (ms) {
        wharf_put_string(w, name, wharf__join(wharf__digits(ms, false).ptr, "ms", NULL));
    }
}

static void put_limits(wharf_writer *w, const wharf_description *d) {
    wharf_put_object(w, "limits");
    put_if(w, "memory", d->memory);
    put_ms(w, "deadline", d->deadline_ms);
    put_ms(w, "cpu", d->cpu_ms);
    if (d->concurrency) {
        wharf_put_int(w, "concurrency", d->concurrency);
    }
    wharf_put_end(w);
}

wharf_str wharf__describe(const wharf_description *d) {
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_text(&w, "name", d->name);
    wharf_put_text(&w, "version", d->version);
    put_reasons(&w, d->reasons);
    wharf_put_array(&w, "subscribe");
    for (size_t i = 0; i < WHARF_MAX_SUBSCRIPTIONS && d->subscribe[i].name; i++) {
        put_subscription(&w, &d->subscribe[i]);
    }
    wharf_put_end(&w);
    put_limits(&w, d);
    wharf_put_end(&w);
    return wharf_json(&w);
}
