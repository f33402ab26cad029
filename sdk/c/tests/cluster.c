/* The cluster, and its errors caught and not. */
#include "tests.h"

#define COPY "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"a\",\"name\":\"copy\",\"uid\":\"u2\"}}"

static wharf_result writes(const wharf_event *event) {
    wharf_object_ref copy = wharf_object("v1", "ConfigMap", "a", "copy");
    wharf_api_error error;
    wharf_written written;
    wharf_str object;
    test_check(!wharf_cluster_get(&copy, NULL, &object, &error) && error.code == WHARF_API_NOT_FOUND);
    test_check(!wharf_cluster_merge_patch(&copy, wharf_s("{}"), NULL, NULL, &error));
    test_same(wharf_api_word(error.code), "not-found");
    test_check(wharf_cluster_create(wharf_s(COPY), NULL, &written, &error));
    test_same(written.resource_version.ptr, "1");
    test_same(written.object.ptr, "");
    test_check(!wharf_cluster_create(wharf_s(COPY), NULL, NULL, &error) && error.code == WHARF_API_ALREADY_EXISTS);
    test_check(wharf_cluster_apply(wharf_s(COPY), &(wharf_write_options){.force = true}, NULL, NULL));
    test_check(wharf_cluster_get(&copy, &(wharf_read_options){.live = true}, &object, NULL));
    test_same(object.ptr, COPY);
    test_check(wharf_cluster_merge_patch(&copy, wharf_s("{\"data\":{}}"), &(wharf_write_options){.dry_run = true}, NULL, NULL));
    copy.uid = wharf_s("other");
    test_check(!wharf_cluster_delete(&copy, NULL, &error) && error.code == WHARF_API_CONFLICT);
    test_same(error.text.ptr, "the uid is another one");
    test_check(wharf_cluster_delete(&copy, &(wharf_delete_options){.if_uid = "u2"}, &error));
    wharf_record_event(&event->key, WHARF_NORMAL, "Copied", wharf_format("to %s", "a"));
    return wharf_done();
}

static void all_writes(void) {
    test_begin(NULL);
    test_check(run(writes, "{\"metadata\":{\"name\":\"x\",\"uid\":\"u1\"}}").end == TEST_DONE);
    test_check(test_write_count() == 4);
    test_same(test_write_at(0).target, "v1 ConfigMap a/copy");
    test_same(test_write_at(0).body, COPY);
    test_check(test_write_at(1).operation == TEST_APPLY && test_write_at(1).force);
    test_check(test_write_at(2).operation == TEST_PATCH && test_write_at(2).dry_run);
    test_same(test_write_at(2).body, "{\"data\":{}}");
    test_check(test_write_at(3).operation == TEST_DELETE && test_event_count() == 1);
    test_same(test_event_at(0).message, "to a");
    test_same(test_event_at(0).uid, "u1");
}

static wharf_result list(const wharf_event *event) {
    wharf_list_options options = {.namespace_ = "a", .limit = 1};
    wharf_page page;
    size_t items = 0, pages = 0;
    do {
        test_check(wharf_cluster_list(&event->key.kind, &options, &page, NULL));
        items += page.items.len;
        pages++;
        options.continue_token = page.continue_token;
    } while (page.continue_token.len);
    test_check(items == 2 && pages >= 2);
    return wharf_done();
}

static void all_pages(void) {
    test_begin(NULL);
    for (int i = 0; i < 4; i++) {
        test_object(wharf_format("{\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"%d\"}}", i % 2 ? "a" : "b", i).ptr);
    }
    test_check(run(list, "{}").end == TEST_DONE);
}

static wharf_result uncaught(const wharf_event *event) {
    wharf_object_ref self = wharf_object("apps/v1", "Deployment", NULL, "web");
    wharf_str object = wharf_s("as it was");
    wharf_api_error error;
    test_check(!wharf_cluster_get(&self, NULL, &object, NULL));
    test_same(object.ptr, "as it was");
    test_check(!wharf_cluster_create(wharf_s(COPY), NULL, NULL, &error) && error.code == WHARF_API_NOT_SENT);
    wharf_record_event(&event->key, WHARF_WARNING, "No", wharf_s("no"));
    return wharf_permanent("Custom", "not what the call ends with");
}

static void errors_that_nobody_catches(void) {
    const struct {
        wharf_api_code code;
        const char *reason, *message;
    } cases[] = {
        {WHARF_API_NOT_GRANTED, "GrantMissing", "not granted: why"},
        {WHARF_API_FORBIDDEN, "Forbidden", "forbidden: why"},
        {WHARF_API_NOT_FOUND, "ApiError", "not found"},
        {WHARF_API_CONFLICT, "Conflict", "conflict: why"},
        {WHARF_API_ALREADY_EXISTS, "ApiError", "already exists"},
        {WHARF_API_INVALID, "ApiError", "invalid: why"},
        {WHARF_API_THROTTLED, "ServerUnavailable", "throttled: try again after 300 ms"},
        {WHARF_API_UNAVAILABLE, "ServerUnavailable", "unavailable: why"},
        {WHARF_API_TOO_LARGE, "ApiError", "too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_begin(NULL);
        test_fail(TEST_GET, cases[i].code, "why", 300);
        test_outcome outcome = run(uncaught, "{}");
        bool throttled = cases[i].code == WHARF_API_THROTTLED;
        test_check(outcome.end == TEST_RETRY && outcome.has_after == throttled);
        test_check(outcome.after_ms == (throttled ? 300u : 0u));
        test_same(outcome.reason, cases[i].reason);
        test_same(outcome.message, cases[i].message);
        test_check(test_write_count() == 0 && test_event_count() == 0);
    }
}

void cluster_tests(void) {
    all_writes();
    all_pages();
    errors_that_nobody_catches();
}
