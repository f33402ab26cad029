/* What the plugin does, against a mock of the host. */
#include <wharf_testing.h>

#define CONFIG_MAP(name, metadata) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"team-a\",\"name\":\"" name \
    "\",\"uid\":\"u1\"" metadata "}}"
#define LABELS(labels) ",\"labels\":{" labels "}"

static void missing_label_is_reported_in_log_and_event(void) {
    test_begin(NULL);
    test_check(test_add(CONFIG_MAP("settings", LABELS("\"app\":\"x\""))).end == TEST_DONE);
    if (test_check(test_log_count() == 1)) {
        test_check(test_log_level_of(0) == WHARF_WARN);
        test_same(test_log_message(0), "label missing");
        test_same(test_log_field(0, "label"), "owner");
    }
    if (test_check(test_event_count() == 1)) {
        test_event event = test_event_at(0);
        test_check(event.type == WHARF_WARNING);
        test_same(event.reason, "MissingLabel");
        test_same(event.message, "the label \"owner\" is required");
        test_same(event.about, "v1 ConfigMap team-a/settings");
        test_same(event.uid, "u1");
    }
}

static void labelled_and_the_clusters_own_are_left_alone(void) {
    test_begin(NULL);
    const char *leaving = CONFIG_MAP("leaving", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"");
    test_check(test_add(CONFIG_MAP("settings", LABELS("\"owner\":\"me\""))).end == TEST_DONE);
    test_check(test_add(CONFIG_MAP("kube-root-ca.crt", LABELS(""))).end == TEST_DONE);
    test_check(test_update(leaving, leaving).end == TEST_DONE);
    test_check(test_log_count() == 0 && test_event_count() == 0);
}

static void label_is_configurable_and_may_have_a_prefix(void) {
    test_begin("{\"requiredLabel\":\"example.com/team\"}");
    const char *without = CONFIG_MAP("settings", LABELS("\"owner\":\"me\""));
    test_check(test_add(without).end == TEST_DONE);
    test_check(test_update(without, CONFIG_MAP("settings", LABELS("\"example.com/team\":\"a\""))).end == TEST_DONE);
    test_check(test_event_count() == 1);
}

static void label_that_is_no_string_is_no_label_and_ends_the_call(void) {
    test_begin(NULL);
    test_outcome outcome = test_add(CONFIG_MAP("settings", LABELS("\"owner\":1")));
    test_check(outcome.end == TEST_PERMANENT && test_event_count() == 0 && test_log_count() == 0);
    test_same(outcome.reason, "ObjectInvalid");
}

static void wrong_configuration_is_refused(void) {
    const char *const wrong[] = {"{\"requiredLabel\":\"\"}", "{\"requiredLabels\":\"owner\"}", "{\"requiredLabel\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test_begin(wrong[i]);
        test_check(test_validate() == 1);
    }
    test_begin(NULL);
    test_check(test_validate() == 0);
}

int main(void) {
    missing_label_is_reported_in_log_and_event();
    labelled_and_the_clusters_own_are_left_alone();
    label_is_configurable_and_may_have_a_prefix();
    label_that_is_no_string_is_no_label_and_ends_the_call();
    wrong_configuration_is_refused();
    return test_end();
}
