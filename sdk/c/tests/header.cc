// The header as C++ sees it: that it is accepted, and its macros work.
#include "wharf.h"

wharf_description wharf_describe(void) {
    wharf_description description = wharf_description();
    description.name = "header";
    return description;
}

wharf_result wharf_add(const wharf_event *event) {
    wharf_info("no fields");
    wharf_warn("fields", wharf_kv("name", event->key.name), wharf_kv("attempt", event->attempt), wharf_kv("half", 0.5),
               wharf_kv("text", "x"), wharf_kv("deleting", event->deleting));
    return wharf_done();
}
