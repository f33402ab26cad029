/*
 * Counts the events of ConfigMaps that this instance has seen, in a line of the log: about as
 * little as a plugin can do, which shows what a component and a call cost at least.
 */
#include <wharf.h>

wharf_description wharf_describe(void) {
    return (wharf_description){
        .name = "counter",
        .version = "0.1.0",
        .subscribe = {{.name = "main", .api_version = "v1", .kind = "ConfigMap"}},
        .memory = "1Mi",
    };
}

/* The host may begin again with a new instance at any time: good enough for a count that is
   only shown. */
static uint64_t events;

wharf_result wharf_add(const wharf_event *event) {
    events++;
    wharf_debug("event", wharf_kv("change", wharf_change_word(event->change)), wharf_kv("count", events));
    return wharf_done();
}

wharf_result wharf_delete(const wharf_event *event) {
    return wharf_add(event);
}
