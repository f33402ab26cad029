/*
 * The conformance guest in C: does what the object of the event tells it to, so that one suite
 * can compare the languages. ../README.md says what each command does; this file owns the
 * configuration and the choice of the command.
 */
#include "guest.h"

typedef struct {
    wharf_str greeting;
    int64_t number;
    wharf_strs tags;
} config;

static config read_config(void) {
    config c = {.greeting = wharf_s("hello")};
    wharf_config_only("greeting", "number", "tags");
    wharf_get_string(wharf_config, "/greeting", &c.greeting);
    wharf_get_int(wharf_config, "/number", &c.number);
    wharf_get_strings(wharf_config, "/tags", &c.tags);
    return c;
}

wharf_description wharf_describe(void) {
    wharf_str greeting = wharf_s("");
    wharf_get_string(wharf_config, "/greeting", &greeting);
    if (wharf_is(greeting, "throw-in-describe")) {
        wharf_panic("thrown in describe");
    }
    return (wharf_description){
        .name = "conformance-c",
        .version = "0.1.0",
        .subscribe = {{.name = "main", .api_version = "v1", .kind = "ConfigMap"}},
        .reasons = {"Custom", "UnknownCommand"},
    };
}

void wharf_validate(void) {
    config c = read_config();
    if (wharf_is(c.greeting, "throw")) {
        wharf_panic("thrown in validate");
    }
    if (c.greeting.len == 0) {
        wharf_refuse("greeting: must not be empty");
    }
    if (c.number < 0) {
        wharf_refuse("number: must not be negative");
    }
}

static wharf_result report_config(const config *c) {
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_string(&w, "greeting", c->greeting);
    wharf_put_int(&w, "number", c->number);
    wharf_put_array(&w, "tags");
    for (size_t i = 0; i < c->tags.len; i++) {
        wharf_put_string(&w, NULL, c->tags.items[i]);
    }
    wharf_put_end(&w);
    wharf_put_end(&w);
    return report(&w);
}

wharf_result wharf_add(const wharf_event *event) {
    config c = read_config();
    wharf_str command = wharf_s("");
    wharf_result result;
    wharf_get_string(wharf_current, "/do", &command);
    if (is(command.ptr, "config")) {
        return report_config(&c);
    }
    if (read_command(command.ptr, event, &result) || host_command(command.ptr, event, &result) ||
        end_command(command.ptr, event, &result) || cluster_command(command.ptr, event, &result)) {
        return result;
    }
    return wharf_permanent("UnknownCommand", "there is no command \"%s\"", command.ptr);
}

wharf_result wharf_delete(const wharf_event *event) {
    return wharf_add(event);
}
