/*
 * Write wharf plugins in C: the only header that a plugin includes.
 *
 * A plugin implements wharf_describe and wharf_add, and wharf_update, wharf_delete and
 * wharf_validate if it wants to. Three rules hold for everything below:
 *
 *   - Memory: all that this SDK hands out lives until the call ends, and then goes by itself.
 *     Nothing is freed by the plugin; nothing of it may be kept in a global.
 *   - Text is a pointer and a length, UTF-8. What this SDK hands out also ends with a NUL, so
 *     that `text.ptr` goes where C wants a string. Absent is a NULL pointer, never an empty text.
 *   - An error that nobody catches ends the call. It is remembered; reads after it find
 *     nothing, nothing after it is logged or sent to the cluster, and whatever the handler
 *     returns, the call fails with it. So a read needs no check. wharf_catch catches one.
 *
 * This header owns what an author sees. It never decides when a plugin is called or what it
 * may do: the host does.
 */
#ifndef WHARF_H
#define WHARF_H

#include "wharf/cluster.h"
#include "wharf/event.h"
#include "wharf/json.h"
#include "wharf/log.h"
#include "wharf/read.h"
#include "wharf/result.h"
#include "wharf/system.h"
#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WHARF_SDK_VERSION "0.1.0"

enum { WHARF_MAX_SUBSCRIPTIONS = 16, WHARF_MAX_REASONS = 8 };

/* How an object names another: `to` is the name of the other's subscription, and one of the others must be there. */
typedef struct wharf_mapping {
    const char *to;
    const char *owner; /* "any" or "controller" */
    const char *label; /* a key; its value is a name */
    const char *annotation;
    const char *field; /* a pointer */
} wharf_mapping;

/* One kind that the plugin asks to be told about. */
typedef struct wharf_subscription {
    const char *name;           /* by which the Plugin document refers to it */
    const char *api_version;    /* "v1", "apps/v1" */
    const char *kind;
    const char *label_selector; /* NULL: all */
    const char *field_selector; /* metadata.name and metadata.namespace; NULL: all */
    unsigned events;            /* WHARF_ADD | WHARF_UPDATE | …; 0: all */
    const char *const *only_if_changed; /* pointers, ended by NULL: only changes there count; NULL: all do */
    const char *filter;                 /* CEL over object and old: only changes count for which it is true */
    bool ignore_own_writes;             /* changes that the plugin makes itself do not count */
    wharf_mapping map;                  /* a change calls the handler for another object; none without `to` */
} wharf_subscription;

/* What the plugin asks for. What is left out is not asked for. */
typedef struct wharf_description {
    const char *name;
    const char *version;
    wharf_subscription subscribe[WHARF_MAX_SUBSCRIPTIONS];
    const char *reasons[WHARF_MAX_REASONS]; /* of failures, counted by themselves in metrics */
    const char *memory;                     /* over all of an instance: "16Mi" */
    uint32_t deadline_ms;                   /* wall time of one call */
    uint32_t cpu_ms;                        /* processor time of one call */
    uint32_t concurrency;                   /* calls at the same time */
} wharf_description;

/* What the plugin is called and what it asks for. May read the configuration, and must work
   without one. */
wharf_description wharf_describe(void);
/* Is the configuration good? Say what is wrong by wharf_refuse. Nothing unless implemented. */
void wharf_validate(void);
/* The key was not known to this plugin, and the object exists. */
wharf_result wharf_add(const wharf_event *event);
/* The object changed, or it is time again. The same as wharf_add unless implemented. */
wharf_result wharf_update(const wharf_event *event);
/* The object is gone: see event->removal. Nothing unless implemented. */
wharf_result wharf_delete(const wharf_event *event);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
