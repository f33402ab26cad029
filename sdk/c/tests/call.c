/* Deliveries, endings, logs, descriptions. */
#include "tests.h"

static int ending;

static wharf_result endings(const wharf_event *event) {
    (void)event;
    switch (ending) {
    case 0: return wharf_done();
    case 1: return wharf_requeue_after(5000);
    case 2: return wharf_retry("Custom", "%s %d", "try", 1);
    case 3: return wharf_after(wharf_retry("Custom", "later"), 250);
    case 4: return wharf_after(wharf_permanent("Custom", "never"), 250);
    case 5: return wharf_error("oh %s", "no");
    default: wharf_panic("oh %s", "dear");
    }
}

static void all_endings(void) {
    const test_outcome expected[] = {
        {TEST_DONE, false, 0, NULL, NULL},
        {TEST_REQUEUE, true, 5000, NULL, NULL},
        {TEST_RETRY, false, 0, "Custom", "try 1"},
        {TEST_RETRY, true, 250, "Custom", "later"},
        {TEST_PERMANENT, false, 0, "Custom", "never"},
        {TEST_RETRY, false, 0, "HandlerError", "oh no"},
        {TEST_TRAP, false, 0, NULL, "oh dear"},
    };
    for (ending = 0; ending < 7; ending++) {
        test_outcome outcome = run(endings, "{}");
        const test_outcome *e = &expected[ending];
        test_check(outcome.end == e->end && outcome.has_after == e->has_after && outcome.after_ms == e->after_ms);
        test_same(outcome.reason, e->reason);
        test_same(outcome.message, e->message);
    }
    test_check(test_log_count() == 1 && test_log_level_of(0) == WHARF_ERROR);
}

static wharf_event seen;

static wharf_result look(const wharf_event *event) {
    seen = *event;
    wharf_info("seen", wharf_kv("change", wharf_change_word(event->change)), wharf_kv("cause", wharf_cause_word(event->cause)),
               wharf_kv("removal", wharf_removal_word(event->removal)), wharf_kv("namespace", event->key.namespace_),
               wharf_kv("deleting", event->deleting), wharf_kv("size", event->size), wharf_kv("changed", wharf_changed("/x")),
               wharf_kv("left", wharf_remaining_ms()), wharf_kv("half", 0.5), wharf_kv("most", UINT64_MAX),
               wharf_kv("least", INT64_MIN), wharf_kv("seconds", wharf_now().seconds));
    wharf_trace("without fields");
    return wharf_done();
}

static void deliveries(void) {
    test_begin(NULL);
    test_log_level(WHARF_INFO);
    on_add = look;
    test_update("{\"x\":1}", "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"x\":1}");
    test_check(seen.change == WHARF_UPDATE && !wharf_present(seen.key.namespace_) && seen.attempt == 1);
    const char *const fields[][2] = {{"change", "update"}, {"cause", "watch"}, {"removal", "none"}, {"namespace", ""},
                                     {"deleting", "false"}, {"size", "76"}, {"changed", "false"}, {"left", "1000"},
                                     {"half", "0.5"}, {"most", "18446744073709551615"},
                                     {"least", "-9223372036854775808"}, {"seconds", "1700000000"}};
    test_check(test_log_count() == 1);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        test_same(test_log_field(0, fields[i][0]), fields[i][1]);
    }
    test_check(test_delete("{}").end == TEST_DONE && test_log_count() == 1);
}

static wharf_result changes(const wharf_event *event) {
    bool changed[3];
    wharf_changed_each((const char *[]){"/a", "/b", "/c"}, 3, changed);
    bool add = event->change == WHARF_ADD;
    test_check(changed[0] == add && changed[1] && changed[2]);
    return wharf_done();
}

static void describe_much(wharf_description *d) {
    d->subscribe[0] = (wharf_subscription){
        .name = "main", .api_version = "apps/v1", .kind = "Deployment", .label_selector = "team", .events = WHARF_ADD | WHARF_DELETE};
    d->subscribe[1] = (wharf_subscription){
        .name = "maps", .api_version = "v1", .kind = "ConfigMap", .field_selector = "metadata.name=x", .events = WHARF_CACHED_ONLY};
    d->reasons[0] = "NotACopy";
    d->reasons[1] = "Conflict";
    d->memory = "32Mi";
    d->deadline_ms = 2000;
    d->cpu_ms = 100;
    d->concurrency = 2;
}

static void describe_throws(wharf_description *d) {
    int64_t n;
    (void)d;
    wharf_get_int(wharf_config, "/x", &n);
}

static void descriptions(void) {
    const char *reasons = "\"ConfigInvalid\",\"ObjectInvalid\",\"GrantMissing\",\"Forbidden\",\"Conflict\","
                          "\"ServerUnavailable\",\"ApiError\",\"HandlerError\"]";
    test_same(test_describe(), wharf_format("{\"name\":\"test\",\"version\":\"1\",\"reasons\":[%s,\"subscribe\":[],\"limits\":{}}",
                                            reasons).ptr);
    on_describe = describe_much;
    test_same(test_describe(),
              wharf_format("{\"name\":\"test\",\"version\":\"1\",\"reasons\":[\"NotACopy\",%s,\"subscribe\":["
                           "{\"name\":\"main\",\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"labelSelector\":\"team\","
                           "\"events\":[\"add\",\"delete\"]},{\"name\":\"maps\",\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                           "\"fieldSelector\":\"metadata.name=x\",\"events\":[]}],\"limits\":{\"memory\":\"32Mi\","
                           "\"deadline\":\"2000ms\",\"cpu\":\"100ms\",\"concurrency\":2}}", reasons).ptr);
    on_describe = describe_throws;
    test_begin("{\"x\":\"y\"}");
    test_same(test_describe(), "config/x: expected an integer of 64 bits, found a string");
    on_describe = NULL;
}

static wharf_result random_bytes(const wharf_event *event) {
    (void)event;
    test_check(wharf_random(5).len == 5 && wharf_random(70000).len == 65536 && wharf_random(0).len == 0);
    return wharf_done();
}

void call_tests(void) {
    test_begin(NULL);
    all_endings();
    deliveries();
    test_begin(NULL);
    test_check(run(changes, "{\"a\":1}").end == TEST_DONE);
    test_check(test_update("{\"a\":1,\"b\":[1]}", "{\"a\":1,\"b\":[2],\"c\":0}").end == TEST_DONE);
    test_check(run(random_bytes, "{}").end == TEST_DONE);
    descriptions();
}
