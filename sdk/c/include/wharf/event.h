/* The event of the running call: what the host says about it, and what changed. */
#ifndef WHARF_EVENT_H
#define WHARF_EVENT_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which function is called; also the events of a subscription, joined by `|`. */
typedef enum wharf_change {
    WHARF_ADD = 1,
    WHARF_UPDATE = 2,
    WHARF_DELETE = 4,
    /* Only of a subscription: cached for reading, and never delivered. */
    WHARF_CACHED_ONLY = 8,
} wharf_change;

/* Group, version and kind; the core group is empty. */
typedef struct wharf_gvk {
    wharf_str group;
    wharf_str version;
    wharf_str kind;
} wharf_gvk;

/* Which object. */
typedef struct wharf_object_ref {
    wharf_gvk kind;
    wharf_str namespace_; /* absent for cluster-scoped kinds */
    wharf_str name;
    wharf_str uid; /* empty when not known */
} wharf_object_ref;

/* An object by "apps/v1", "Deployment", its namespace (NULL: none) and name. */
wharf_object_ref wharf_object(const char *api_version, const char *kind, const char *namespace_, const char *name);

/* Why the host calls. Several changes may have been folded into one call, which then has the
   cause of the last of them. */
typedef enum wharf_cause {
    WHARF_CAUSE_INITIAL_LIST, /* the first list after the subscription started */
    WHARF_CAUSE_WATCH,        /* the watch reported a change */
    WHARF_CAUSE_RESYNC,       /* a pass over everything */
    WHARF_CAUSE_REQUEUE,      /* asked for by wharf_requeue_after */
    WHARF_CAUSE_RETRY,        /* the last call for the key failed */
    WHARF_CAUSE_RELOAD,       /* a new revision or configuration */
    WHARF_CAUSE_CHANGED_OFFLINE, /* changed while no host was watching */
    WHARF_CAUSE_RELATED,      /* an object that is mapped to this one changed */
    WHARF_CAUSE_MANUAL,       /* an operator asked for it */
    WHARF_CAUSE_SCHEDULE,     /* the plugin's schedule */
} wharf_cause;

/* Why wharf_delete is called. */
typedef enum wharf_removal {
    WHARF_REMOVAL_NONE,      /* not a delete */
    WHARF_REMOVAL_GONE,      /* the object, or its whole kind, was deleted */
    WHARF_REMOVAL_UNMATCHED, /* it no longer matches the selectors */
    WHARF_REMOVAL_REPLACED,  /* another object has its name; add follows */
} wharf_removal;

/* One call. */
typedef struct wharf_event {
    wharf_change change;
    wharf_object_ref key;
    wharf_str resource_version; /* compare for equality only */
    bool deleting;              /* metadata.deletionTimestamp is set */
    wharf_str subscription;
    wharf_removal removal;
    bool final_state_unknown; /* the delete was missed; the object is an older state */
    wharf_cause cause;
    uint32_t attempt; /* 1, plus the failed calls since the last success */
    uint32_t queued_ms;
    uint32_t budget_ms;
    uint32_t size; /* bytes of the object's JSON; 0 if it is absent */
    wharf_str traceparent;
} wharf_event;

/* The words of the contract: "add", "initial-list", "gone". */
const char *wharf_change_word(wharf_change change);
const char *wharf_cause_word(wharf_cause cause);
const char *wharf_removal_word(wharf_removal removal);

/* Does what is at the pointer differ between previous and current? True without a previous. */
bool wharf_changed(const char *pointer);
/* For each of several pointers, in one crossing; at most 256 are compared, the rest is true. */
void wharf_changed_each(const char *const *pointers, size_t count, bool *changed);
/* Milliseconds of wall time left before the host ends this call. */
uint32_t wharf_remaining_ms(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
