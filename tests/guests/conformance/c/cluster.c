/* Commands that use the cluster. An API error is part of the answer, but where a command wants it
   uncaught. */
#include "guest.h"

static wharf_result caught(const wharf_api_error *error) {
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_text(&w, "error", wharf_api_word(error->code));
    if (wharf_present(error->text)) {
        wharf_put_string(&w, "text", error->text);
    }
    if (error->code == WHARF_API_THROTTLED) {
        wharf_put_int(&w, "retryAfterMs", error->retry_after_ms);
    }
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result report_raw(wharf_str json) {
    wharf_writer w = {0};
    wharf_put_raw(&w, NULL, json);
    return report(&w);
}

/* A text for options: NULL if it was left out or is empty. */
static const char *option(const char *name) {
    wharf_str value = arg_string(name);
    return value.len ? value.ptr : NULL;
}

static wharf_object_ref target(void) {
    return wharf_object(arg_string("kind/apiVersion").ptr, arg_string("kind/kind").ptr, option("namespace"),
                        arg_string("name").ptr);
}

static wharf_result get(bool catches) {
    wharf_object_ref ref = target();
    wharf_read_options options = {arg_strings("fields", NULL), arg_bool("live")};
    wharf_str object;
    wharf_api_error error;
    if (wharf_cluster_get(&ref, &options, &object, catches ? &error : NULL)) {
        return report_raw(object);
    }
    return catches ? caught(&error) : wharf_done();
}

static wharf_result list(void) {
    wharf_object_ref ref = target();
    wharf_list_options options = {.namespace_ = option("namespace"), .label_selector = option("labelSelector"),
                                  .limit = (uint32_t)arg_int("limit")};
    wharf_page page;
    wharf_api_error error;
    int64_t pages = 0;
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_array(&w, "names");
    do {
        if (!wharf_cluster_list(&ref.kind, &options, &page, &error)) {
            return caught(&error);
        }
        pages++;
        for (size_t i = 0; i < page.items.len; i++) {
            wharf_str name;
            if (wharf_get_string(wharf_text(page.items.items[i]), "/metadata/name", &name)) {
                wharf_put_string(&w, NULL, name);
            }
        }
        options.continue_token = page.continue_token;
    } while (page.continue_token.len);
    wharf_put_end(&w);
    wharf_put_int(&w, "pages", pages);
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result write(const char *command) {
    wharf_write_options options = {arg_bool("dryRun"), arg_bool("force"), option("ifResourceVersion"),
                                   option("subresource"), arg_strings("fields", NULL)};
    wharf_written written;
    wharf_api_error error;
    wharf_object_ref ref = target();
    bool ok = is(command, "cluster-create") ? wharf_cluster_create(arg_raw("object"), &options, &written, &error)
              : is(command, "cluster-apply")
                  ? wharf_cluster_apply(arg_raw("object"), &options, &written, &error)
                  : wharf_cluster_merge_patch(&ref, arg_raw("patch"), &options, &written, &error);
    if (!ok) {
        return caught(&error);
    }
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_string(&w, "resourceVersion", written.resource_version);
    wharf_put_raw(&w, "object", written.object.len ? written.object : wharf_s("null"));
    wharf_put_end(&w);
    return report(&w);
}

static wharf_result delete_object(void) {
    wharf_str propagation = arg_string("propagation");
    wharf_delete_options options = {.if_uid = option("ifUid"),
                                    .propagation = wharf_is(propagation, "foreground") ? WHARF_FOREGROUND
                                                   : wharf_is(propagation, "orphan")   ? WHARF_ORPHAN
                                                                                       : WHARF_BACKGROUND};
    wharf_object_ref ref = target();
    wharf_api_error error;
    return wharf_cluster_delete(&ref, &options, &error) ? report_string(wharf_s("deleted")) : caught(&error);
}

static wharf_result record(const wharf_event *event) {
    wharf_event_type type = wharf_is(arg_string("type"), "warning") ? WHARF_WARNING : WHARF_NORMAL;
    wharf_record_event(&event->key, type, arg_string("reason").ptr, arg_string("message"));
    return wharf_done();
}

bool cluster_command(const char *command, const wharf_event *event, wharf_result *result) {
    if (is(command, "cluster-get")) {
        *result = get(true);
    } else if (is(command, "cluster-get-uncaught")) {
        *result = get(false);
    } else if (is(command, "cluster-list")) {
        *result = list();
    } else if (is(command, "cluster-create") || is(command, "cluster-apply") || is(command, "cluster-patch")) {
        *result = write(command);
    } else if (is(command, "cluster-delete")) {
        *result = delete_object();
    } else if (is(command, "record-event")) {
        *result = record(event);
    } else {
        return false;
    }
    return true;
}
