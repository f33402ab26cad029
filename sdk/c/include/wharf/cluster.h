/* The cluster, as far as the Plugin document grants it. */
#ifndef WHARF_CLUSTER_H
#define WHARF_CLUSTER_H

#include "wharf/event.h"
#include "wharf/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every function needs a grant in the Plugin document. It is true if the cluster did it. If not,
 * `*error` says why; where `error` is NULL the error is one that nobody caught, which makes the
 * call a retry (GrantMissing, Forbidden, Conflict, ServerUnavailable or ApiError). Options may
 * be NULL. Lists of pointers end with NULL: (const char *[]){"/metadata/name", NULL}.
 */
typedef enum wharf_api_code {
    WHARF_API_NOT_GRANTED,    /* the text says what to add to the Plugin document */
    WHARF_API_FORBIDDEN,      /* the plugin's identity lacks the right */
    WHARF_API_NOT_FOUND,      /* no such object */
    WHARF_API_CONFLICT,       /* another state, or a field of another manager */
    WHARF_API_ALREADY_EXISTS, /* the name is taken */
    WHARF_API_INVALID,        /* not accepted */
    WHARF_API_THROTTLED,      /* again after retry_after_ms */
    WHARF_API_UNAVAILABLE,    /* not reachable, or not able to answer */
    WHARF_API_TOO_LARGE,      /* ask for less with `fields` or `limit` */
    WHARF_API_NOT_SENT,       /* an earlier error of this call was not caught */
} wharf_api_code;

typedef struct wharf_api_error {
    wharf_api_code code;
    wharf_str text;          /* absent where the code says all */
    uint32_t retry_after_ms; /* of WHARF_API_THROTTLED */
} wharf_api_error;

/* The word of the contract: "not-found". */
const char *wharf_api_word(wharf_api_code code);
/* The retry that an uncaught error makes: return wharf_api_failure(&error); */
wharf_result wharf_api_failure(const wharf_api_error *error);

typedef struct wharf_read_options {
    const char *const *fields; /* pointers to keep; NULL: everything */
    bool live;                 /* past the host's cache */
} wharf_read_options;

typedef struct wharf_list_options {
    const char *namespace_;     /* NULL: all of them */
    const char *label_selector; /* NULL: everything */
    const char *field_selector; /* NULL: everything */
    const char *const *fields;
    bool live;
    uint32_t limit;           /* items of a page at most; 0: the host's default */
    wharf_str continue_token; /* absent for the first page, else of the page before */
} wharf_list_options;

typedef struct wharf_page {
    wharf_strs items;         /* the objects as JSON texts */
    wharf_str continue_token; /* empty on the last page */
} wharf_page;

typedef struct wharf_write_options {
    bool dry_run;                    /* check everything, store nothing */
    bool force;                      /* apply only: take over fields of other managers */
    const char *if_resource_version; /* NULL: do not check */
    const char *subresource;         /* "status"; NULL: the object */
    const char *const *fields;       /* pointers to keep of the answer */
} wharf_write_options;

typedef struct wharf_written {
    wharf_str resource_version;
    wharf_str object; /* empty without `fields` */
} wharf_written;

typedef enum wharf_propagation {
    WHARF_BACKGROUND, /* owned objects are deleted afterwards */
    WHARF_FOREGROUND, /* first */
    WHARF_ORPHAN,     /* not at all */
} wharf_propagation;

typedef struct wharf_delete_options {
    bool dry_run;
    const char *if_uid; /* NULL: do not check */
    const char *if_resource_version;
    wharf_propagation propagation;
} wharf_delete_options;

/* One object as JSON text; the target's uid does not matter. */
bool wharf_cluster_get(const wharf_object_ref *target, const wharf_read_options *options, wharf_str *object,
                       wharf_api_error *error);
/* One page of objects. */
bool wharf_cluster_list(const wharf_gvk *kind, const wharf_list_options *options, wharf_page *page,
                        wharf_api_error *error);
/* Makes an object. `written` may be NULL, here and below. */
bool wharf_cluster_create(wharf_str object, const wharf_write_options *options, wharf_written *written,
                          wharf_api_error *error);
/* Server-side apply. */
bool wharf_cluster_apply(wharf_str object, const wharf_write_options *options, wharf_written *written,
                         wharf_api_error *error);
/* A JSON merge patch. */
bool wharf_cluster_merge_patch(const wharf_object_ref *target, wharf_str patch, const wharf_write_options *options,
                               wharf_written *written, wharf_api_error *error);
/* Deletes an object. Without options only this very one, if the target has a uid. */
bool wharf_cluster_delete(const wharf_object_ref *target, const wharf_delete_options *options, wharf_api_error *error);

typedef enum wharf_event_type { WHARF_NORMAL, WHARF_WARNING } wharf_event_type;

/* A Kubernetes Event about an object. Never fails: without the grant the host logs what is
   missing. */
void wharf_record_event(const wharf_object_ref *about, wharf_event_type type, const char *reason, wharf_str message);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
