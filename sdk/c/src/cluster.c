/*
 * The cluster. Owns what an error that nobody catches means, and that nothing is sent after
 * one; whether a call is allowed is the host's business.
 */
#include "internal.h"

wharf_object_ref wharf_object(const char *api_version, const char *kind, const char *namespace_, const char *name) {
    wharf_object_ref object = {{wharf_s(""), wharf_s(api_version), wharf_s(kind)}, wharf_s(namespace_), wharf_s(name),
                               wharf_s("")};
    const char *slash = strchr(api_version, '/');
    if (slash) {
        object.kind.group = wharf__copy(api_version, (size_t)(slash - api_version));
        object.kind.version = wharf_s(slash + 1);
    }
    return object;
}

wharf_plugin_types_gvk_t wharf__to_gvk(const wharf_gvk *kind) {
    wharf_plugin_types_gvk_t gvk = {wharf__to(kind->group), wharf__to(kind->version), wharf__to(kind->kind)};
    return gvk;
}

wharf_plugin_types_object_ref_t wharf__to_ref(const wharf_object_ref *ref) {
    wharf_plugin_types_object_ref_t to = {wharf__to_gvk(&ref->kind), wharf__to_option(ref->namespace_),
                                          wharf__to(ref->name), wharf__to(ref->uid)};
    return to;
}

const char *wharf_api_word(wharf_api_code code) {
    static const char *const words[] = {"not-granted", "forbidden", "not-found", "conflict", "already-exists",
                                        "invalid", "throttled", "unavailable", "too-large", "not-sent"};
    return (size_t)code < sizeof words / sizeof *words ? words[code] : "";
}

wharf_result wharf_api_failure(const wharf_api_error *error) {
    /* By code, as the contract orders them. */
    static const char *const reasons[] = {"GrantMissing", "Forbidden", "ApiError", "Conflict", "ApiError",
                                          "ApiError", "ServerUnavailable", "ServerUnavailable", "ApiError", "ApiError"};
    static const char *const texts[] = {"not granted: ", "forbidden: ", "not found", "conflict: ", "already exists",
                                        "invalid: ", "throttled: try again after ", "unavailable: ", "too large",
                                        "not sent: an earlier error of this call was not caught"};
    size_t code = error->code;
    if (code >= sizeof reasons / sizeof *reasons) {
        wharf__panic("wharf_api_failure: not an error of the cluster");
    }
    bool throttled = code == WHARF_API_THROTTLED;
    const char *detail = error->text.ptr ? error->text.ptr : "";
    if (throttled) {
        detail = wharf__join(wharf__digits(error->retry_after_ms, false).ptr, " ms", NULL).ptr;
    }
    wharf_result failure = wharf__failure(WHARF__RETRY, reasons[code], wharf__join(texts[code], detail, NULL));
    return throttled ? wharf_after(failure, error->retry_after_ms) : failure;
}

/* Hands an error to whoever catches it; always false. */
static bool refuse(wharf_api_error *to, const wharf_api_error *error) {
    if (to) {
        *to = *error;
    } else {
        wharf_fail(wharf_api_failure(error));
    }
    return false;
}

static bool refused(wharf_api_error *to, const wharf_plugin_cluster_api_error_t *error) {
    wharf_api_error found = {(wharf_api_code)error->tag, wharf__absent, 0};
    switch (error->tag) {
    case WHARF_PLUGIN_CLUSTER_API_ERROR_NOT_GRANTED: found.text = wharf__from(error->val.not_granted); break;
    case WHARF_PLUGIN_CLUSTER_API_ERROR_FORBIDDEN: found.text = wharf__from(error->val.forbidden); break;
    case WHARF_PLUGIN_CLUSTER_API_ERROR_CONFLICT: found.text = wharf__from(error->val.conflict); break;
    case WHARF_PLUGIN_CLUSTER_API_ERROR_INVALID: found.text = wharf__from(error->val.invalid); break;
    case WHARF_PLUGIN_CLUSTER_API_ERROR_UNAVAILABLE: found.text = wharf__from(error->val.unavailable); break;
    case WHARF_PLUGIN_CLUSTER_API_ERROR_THROTTLED: found.retry_after_ms = error->val.throttled; break;
    default: break;
    }
    return refuse(to, &found);
}

/* An earlier error was not caught: nothing is sent. */
static bool may_send(wharf_api_error *error) {
    static const wharf_api_error not_sent = {WHARF_API_NOT_SENT, {NULL, 0}, 0};
    return !wharf__running.failed || refuse(error, &not_sent);
}

static controller_list_string_t fields(const char *const *pointers) {
    return wharf__list(pointers, wharf__count(pointers));
}

bool wharf_cluster_get(const wharf_object_ref *target, const wharf_read_options *options, wharf_str *object,
                       wharf_api_error *error) {
    if (!may_send(error)) {
        return false;
    }
    wharf_plugin_types_gvk_t kind = wharf__to_gvk(&target->kind);
    controller_string_t namespace_ = wharf__to(target->namespace_), name = wharf__to(target->name), answer;
    controller_list_string_t keep = fields(options ? options->fields : NULL);
    wharf_plugin_cluster_api_error_t why;
    if (!wharf_plugin_cluster_get(&kind, target->namespace_.ptr ? &namespace_ : NULL, &name, &keep,
                                  options && options->live, &answer, &why)) {
        return refused(error, &why);
    }
    *object = wharf__from(answer);
    return true;
}

bool wharf_cluster_list(const wharf_gvk *kind, const wharf_list_options *options, wharf_page *page,
                        wharf_api_error *error) {
    static const wharf_list_options none = {0};
    if (!may_send(error)) {
        return false;
    }
    options = options ? options : &none;
    wharf_plugin_types_gvk_t gvk = wharf__to_gvk(kind);
    wharf_plugin_cluster_list_options_t how = {
        wharf__to_option(wharf_s(options->namespace_)), wharf__to_c(options->label_selector),
        wharf__to_c(options->field_selector), fields(options->fields), options->live, options->limit,
        wharf__to(options->continue_token)};
    wharf_plugin_cluster_page_t answer;
    wharf_plugin_cluster_api_error_t why;
    if (!wharf_plugin_cluster_list_objects(&gvk, &how, &answer, &why)) {
        return refused(error, &why);
    }
    page->items.len = answer.items.len;
    page->items.items = wharf_alloc(answer.items.len * sizeof(wharf_str) + 1);
    for (size_t i = 0; i < answer.items.len; i++) {
        page->items.items[i] = wharf__from(answer.items.ptr[i]);
    }
    page->continue_token = wharf__from(answer.continue_token);
    return true;
}

static wharf_plugin_cluster_write_options_t write_options(const wharf_write_options *options) {
    static const wharf_write_options none = {0};
    options = options ? options : &none;
    wharf_plugin_cluster_write_options_t how = {options->dry_run, options->force,
                                                wharf__to_c(options->if_resource_version),
                                                wharf__to_option(wharf_s(options->subresource)),
                                                fields(options->fields)};
    return how;
}

static bool wrote(const wharf_plugin_cluster_written_t *answer, wharf_written *written) {
    if (written) {
        written->resource_version = wharf__from(answer->resource_version);
        written->object = wharf__from(answer->object);
    }
    return true;
}

bool wharf_cluster_create(wharf_str object, const wharf_write_options *options, wharf_written *written,
                          wharf_api_error *error) {
    if (!may_send(error)) {
        return false;
    }
    controller_string_t json = wharf__to(object);
    wharf_plugin_cluster_write_options_t how = write_options(options);
    wharf_plugin_cluster_written_t answer;
    wharf_plugin_cluster_api_error_t why;
    bool ok = wharf_plugin_cluster_create(&json, &how, &answer, &why);
    return ok ? wrote(&answer, written) : refused(error, &why);
}

bool wharf_cluster_apply(wharf_str object, const wharf_write_options *options, wharf_written *written,
                         wharf_api_error *error) {
    if (!may_send(error)) {
        return false;
    }
    controller_string_t json = wharf__to(object);
    wharf_plugin_cluster_write_options_t how = write_options(options);
    wharf_plugin_cluster_written_t answer;
    wharf_plugin_cluster_api_error_t why;
    bool ok = wharf_plugin_cluster_apply(&json, &how, &answer, &why);
    return ok ? wrote(&answer, written) : refused(error, &why);
}

bool wharf_cluster_merge_patch(const wharf_object_ref *target, wharf_str patch, const wharf_write_options *options,
                               wharf_written *written, wharf_api_error *error) {
    if (!may_send(error)) {
        return false;
    }
    wharf_plugin_types_object_ref_t ref = wharf__to_ref(target);
    controller_string_t json = wharf__to(patch);
    wharf_plugin_cluster_write_options_t how = write_options(options);
    wharf_plugin_cluster_written_t answer;
    wharf_plugin_cluster_api_error_t why;
    bool ok = wharf_plugin_cluster_merge_patch(&ref, &json, &how, &answer, &why);
    return ok ? wrote(&answer, written) : refused(error, &why);
}

bool wharf_cluster_delete(const wharf_object_ref *target, const wharf_delete_options *options, wharf_api_error *error) {
    static const wharf_delete_options none = {0};
    if (!may_send(error)) {
        return false;
    }
    wharf_plugin_types_object_ref_t ref = wharf__to_ref(target);
    const wharf_delete_options *asked = options ? options : &none;
    wharf_plugin_cluster_delete_options_t how = {asked->dry_run,
                                                 options ? wharf__to_c(options->if_uid) : wharf__to(target->uid),
                                                 wharf__to_c(asked->if_resource_version),
                                                 (wharf_plugin_cluster_propagation_t)asked->propagation};
    wharf_plugin_cluster_api_error_t why;
    return wharf_plugin_cluster_delete(&ref, &how, &why) || refused(error, &why);
}

void wharf_record_event(const wharf_object_ref *about, wharf_event_type type, const char *reason, wharf_str message) {
    if (wharf__running.failed) {
        return;
    }
    wharf_plugin_types_object_ref_t ref = wharf__to_ref(about);
    controller_string_t word = wharf__to_c(reason), text = wharf__to(wharf__utf8(message));
    wharf_plugin_cluster_record_event(&ref, (wharf_plugin_cluster_event_type_t)type, &word, &text);
}
