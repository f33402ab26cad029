/* The event: its words, and what the host compares. */
#include "internal.h"

const char *wharf_change_word(wharf_change change) {
    switch (change) {
    case WHARF_ADD: return "add";
    case WHARF_UPDATE: return "update";
    case WHARF_DELETE: return "delete";
    default: return "";
    }
}

const char *wharf_cause_word(wharf_cause cause) {
    static const char *const words[] = {"initial-list", "watch",   "resync", "requeue",  "retry", "reload",
                                        "changed-offline", "related", "manual", "schedule"};
    return (size_t)cause < sizeof words / sizeof *words ? words[cause] : "";
}

const char *wharf_removal_word(wharf_removal removal) {
    static const char *const words[] = {"none", "gone", "unmatched", "replaced"};
    return (size_t)removal < sizeof words / sizeof *words ? words[removal] : "";
}

void wharf_changed_each(const char *const *pointers, size_t count, bool *changed) {
    controller_list_string_t texts = wharf__list(pointers, count);
    controller_list_bool_t answer;
    wharf_plugin_event_changed(&texts, &answer);
    for (size_t i = 0; i < count; i++) {
        changed[i] = i >= answer.len || answer.ptr[i];
    }
}

bool wharf_changed(const char *pointer) {
    bool changed;
    wharf_changed_each(&pointer, 1, &changed);
    return changed;
}

uint32_t wharf_remaining_ms(void) {
    return wharf_plugin_event_remaining_ms();
}
