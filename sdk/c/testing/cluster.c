/* The mock's cluster: objects by kind and name, and answers that a test asked for. */
#include <stdio.h>
#include <stdlib.h>

#include "mock.h"

static const char *target_text(const wharf_object_ref *ref) {
    const char *group = ref->kind.group.len ? ref->kind.group.ptr : "", *namespace_ = ref->namespace_.ptr;
    char text[1024];
    snprintf(text, sizeof text, "%s%s%.*s %.*s %.*s%s%.*s", group, *group ? "/" : "", (int)ref->kind.version.len,
             ref->kind.version.ptr, (int)ref->kind.kind.len, ref->kind.kind.ptr, (int)ref->namespace_.len,
             namespace_ ? namespace_ : "", namespace_ ? "/" : "", (int)ref->name.len, ref->name.ptr);
    return mock_copy(text, strlen(text));
}

static wharf_str text_of(controller_string_t text) {
    return wharf_s(mock_text(text));
}

const char *mock_target(const wharf_plugin_types_object_ref_t *ref) {
    wharf_object_ref plain = {{text_of(ref->kind.group), text_of(ref->kind.version), text_of(ref->kind.kind)},
                              ref->namespace_.is_some ? text_of(ref->namespace_.val) : wharf__absent,
                              text_of(ref->name),
                              text_of(ref->uid)};
    return target_text(&plain);
}

/* A string of an object, without its quotes; NULL if it is not there. */
static const char *string_at(const char *json, const char *pointer) {
    wharf_str found = wharf__find(wharf_s(json), pointer);
    return found.len >= 2 ? mock_copy(found.ptr + 1, found.len - 2) : NULL;
}

static const char *or_else(const char *text, const char *other) {
    return text ? text : other;
}

wharf_object_ref mock_key(const char *json) {
    const char *api_version = or_else(string_at(json, "/apiVersion"), "v1");
    const char *kind = or_else(string_at(json, "/kind"), "ConfigMap");
    wharf_object_ref key = {{wharf_s(""), wharf_s(api_version), wharf_s(kind)},
                            wharf_s(string_at(json, "/metadata/namespace")),
                            wharf_s(or_else(string_at(json, "/metadata/name"), "")),
                            wharf_s(or_else(string_at(json, "/metadata/uid"), ""))};
    const char *slash = strchr(api_version, '/');
    if (slash) {
        key.kind.group = wharf_s(mock_copy(api_version, (size_t)(slash - api_version)));
        key.kind.version = wharf_s(slash + 1);
    }
    return key;
}

static mock_object *find(const char *target) {
    for (size_t i = 0; i < mock.objects; i++) {
        if (!strcmp(mock.object[i].target, target)) {
            return &mock.object[i];
        }
    }
    return NULL;
}

static void store(const char *json) {
    wharf_object_ref key = mock_key(json);
    const char *target = target_text(&key);
    mock_object *place = find(target);
    if (!place) {
        place = &mock.object[mock_next(&mock.objects)];
    }
    place->target = target;
    place->uid = mock_copy(key.uid.ptr, key.uid.len);
    place->json = mock_copy(json, strlen(json));
}

void test_object(const char *json) {
    store(json);
}

void test_fail(test_operation operation, wharf_api_code code, const char *text, uint32_t retry_after_ms) {
    mock_failure failure = {operation, code, mock_copy(text ? text : "", strlen(text ? text : "")), retry_after_ms};
    mock.failure[mock_next(&mock.failures)] = failure;
}

static bool refuse(wharf_plugin_cluster_api_error_t *error, wharf_api_code code, const char *text, uint32_t ms) {
    error->tag = (uint8_t)code;
    if (code == WHARF_API_THROTTLED) {
        error->val.throttled = ms;
    } else {
        /* All other texts have one place. */
        error->val.invalid = mock_give(text, strlen(text));
    }
    return false;
}

/* Uses up the first failure that a test asked for. */
static bool fails(test_operation operation, wharf_plugin_cluster_api_error_t *error) {
    for (size_t i = 0; i < mock.failures; i++) {
        mock_failure failure = mock.failure[i];
        if (failure.operation == operation) {
            mock.failures--;
            memmove(&mock.failure[i], &mock.failure[i + 1], (mock.failures - i) * sizeof failure);
            refuse(error, failure.code, failure.text, failure.retry_after_ms);
            return true;
        }
    }
    return false;
}

bool wharf_plugin_cluster_get(wharf_plugin_cluster_gvk_t *kind, controller_string_t *namespace_,
                              controller_string_t *name, controller_list_string_t *fields, bool live,
                              controller_string_t *ret, wharf_plugin_cluster_api_error_t *err) {
    (void)fields;
    (void)live;
    wharf_plugin_types_object_ref_t ref = {*kind, {namespace_ != NULL, namespace_ ? *namespace_ : *name}, *name, *name};
    if (fails(TEST_GET, err)) {
        return false;
    }
    mock_object *object = find(mock_target(&ref));
    if (!object) {
        return refuse(err, WHARF_API_NOT_FOUND, "", 0);
    }
    *ret = mock_give(object->json, strlen(object->json));
    return true;
}

/* Is it of this kind and in this namespace? */
static bool listed(const mock_object *object, const wharf_plugin_cluster_gvk_t *kind, const char *namespace_) {
    wharf_object_ref key = mock_key(object->json);
    bool of_kind = wharf_is(key.kind.group, mock_text(kind->group)) && wharf_is(key.kind.version, mock_text(kind->version)) &&
                   wharf_is(key.kind.kind, mock_text(kind->kind));
    return of_kind && (!namespace_ || wharf_is(key.namespace_, namespace_));
}

bool wharf_plugin_cluster_list_objects(wharf_plugin_cluster_gvk_t *kind, wharf_plugin_cluster_list_options_t *options,
                                       wharf_plugin_cluster_page_t *ret, wharf_plugin_cluster_api_error_t *err) {
    if (fails(TEST_LIST, err)) {
        return false;
    }
    const char *namespace_ = options->namespace_.is_some ? mock_text(options->namespace_.val) : NULL;
    size_t i = options->continue_token.len ? strtoul(mock_text(options->continue_token), NULL, 10) : 0;
    size_t limit = options->limit ? options->limit : MOCK_MAX;
    ret->items.len = 0;
    ret->items.ptr = cabi_realloc(NULL, 0, sizeof(void *), MOCK_MAX * sizeof *ret->items.ptr);
    for (; i < mock.objects && ret->items.len < limit; i++) {
        if (listed(&mock.object[i], kind, namespace_)) {
            const char *json = mock.object[i].json;
            ret->items.ptr[ret->items.len++] = mock_give(json, strlen(json));
        }
    }
    char token[24];
    snprintf(token, sizeof token, "%zu", i);
    ret->continue_token = mock_give(token, i < mock.objects ? strlen(token) : 0);
    return true;
}

static bool wrote(test_write write, wharf_plugin_cluster_written_t *ret) {
    mock.write[mock_next(&mock.writes)] = write;
    char version[24];
    snprintf(version, sizeof version, "%u", ++mock.version);
    ret->resource_version = mock_give(version, strlen(version));
    ret->object = mock_give("", 0);
    return true;
}

/* Create and apply. */
static bool put(test_operation operation, controller_string_t *object, wharf_plugin_cluster_write_options_t *options,
                wharf_plugin_cluster_written_t *ret, wharf_plugin_cluster_api_error_t *err) {
    if (fails(operation, err)) {
        return false;
    }
    const char *json = mock_text(*object);
    wharf_object_ref key = mock_key(json);
    const char *target = target_text(&key);
    if (operation == TEST_CREATE && find(target)) {
        return refuse(err, WHARF_API_ALREADY_EXISTS, "", 0);
    }
    if (!options->dry_run) {
        store(json);
    }
    return wrote((test_write){operation, target, json, options->dry_run, options->force}, ret);
}

bool wharf_plugin_cluster_create(controller_string_t *object, wharf_plugin_cluster_write_options_t *options,
                                 wharf_plugin_cluster_written_t *ret, wharf_plugin_cluster_api_error_t *err) {
    return put(TEST_CREATE, object, options, ret, err);
}

bool wharf_plugin_cluster_apply(controller_string_t *object, wharf_plugin_cluster_write_options_t *options,
                                wharf_plugin_cluster_written_t *ret, wharf_plugin_cluster_api_error_t *err) {
    return put(TEST_APPLY, object, options, ret, err);
}

bool wharf_plugin_cluster_merge_patch(wharf_plugin_cluster_object_ref_t *target, controller_string_t *patch,
                                      wharf_plugin_cluster_write_options_t *options, wharf_plugin_cluster_written_t *ret,
                                      wharf_plugin_cluster_api_error_t *err) {
    if (fails(TEST_PATCH, err)) {
        return false;
    }
    const char *text = mock_target(target);
    if (!find(text)) {
        return refuse(err, WHARF_API_NOT_FOUND, "", 0);
    }
    return wrote((test_write){TEST_PATCH, text, mock_text(*patch), options->dry_run, options->force}, ret);
}

bool wharf_plugin_cluster_delete(wharf_plugin_cluster_object_ref_t *target, wharf_plugin_cluster_delete_options_t *options,
                                 wharf_plugin_cluster_api_error_t *err) {
    if (fails(TEST_DELETE, err)) {
        return false;
    }
    const char *text = mock_target(target), *uid = mock_text(options->if_uid);
    mock_object *object = find(text);
    if (!object) {
        return refuse(err, WHARF_API_NOT_FOUND, "", 0);
    }
    if (*uid && strcmp(uid, object->uid)) {
        return refuse(err, WHARF_API_CONFLICT, "the uid is another one", 0);
    }
    if (!options->dry_run) {
        *object = mock.object[--mock.objects];
    }
    mock.write[mock_next(&mock.writes)] = (test_write){TEST_DELETE, text, NULL, options->dry_run, false};
    return true;
}

void wharf_plugin_cluster_record_event(wharf_plugin_cluster_object_ref_t *about, wharf_plugin_cluster_event_type_t kind,
                                       controller_string_t *reason, controller_string_t *message) {
    mock.event[mock_next(&mock.events)] = (test_event){mock_target(about), mock_text(about->uid),
                                                       (wharf_event_type)kind, mock_text(*reason), mock_text(*message)};
}

size_t test_write_count(void) {
    return mock.writes;
}

size_t test_event_count(void) {
    return mock.events;
}

test_write test_write_at(size_t index) {
    if (index >= mock.writes) {
        fprintf(stderr, "there are %zu writes, and no write %zu\n", mock.writes, index);
        exit(1);
    }
    return mock.write[index];
}

test_event test_event_at(size_t index) {
    if (index >= mock.events) {
        fprintf(stderr, "there are %zu Events, and no Event %zu\n", mock.events, index);
        exit(1);
    }
    return mock.event[index];
}
