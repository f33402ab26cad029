/* Typed reading from the event, the configuration and texts, and its errors. */
#include "tests.h"

#define OBJECT \
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"example.com/x~y\":\"l\"},\"annotations\":{\"k\":\"n\"}}," \
    "\"n\":-9223372036854775808,\"big\":9223372036854775808,\"d\":1.5,\"inf\":1e999,\"b\":false,\"z\":null," \
    "\"s\":[\"x\",\"\\u0041\"],\"mixed\":[\"x\",1]}"

static wharf_result all_types(const wharf_event *event) {
    wharf_str text = wharf_s("default");
    wharf_strs list;
    int64_t n = 0;
    double d = 0;
    bool b = true;
    test_same(event->key.name.ptr, "a");
    test_check(wharf_get_string(wharf_current, "/metadata/name", &text));
    test_same(text.ptr, "a");
    test_check(wharf_get_label(wharf_current, "example.com/x~y", &text));
    test_same(text.ptr, "l");
    test_check(wharf_get_annotation(wharf_current, "k", &text));
    test_same(text.ptr, "n");
    test_check(!wharf_get_string(wharf_current, "/none", &text) && !wharf_get_string(wharf_current, "/z", &text));
    test_same(text.ptr, "n");
    test_check(wharf_get_int(wharf_current, "/n", &n) && n == INT64_MIN);
    test_check(wharf_get_double(wharf_current, "/d", &d) && d == 1.5);
    test_check(wharf_get_double(wharf_current, "/n", &d) && d == (double)INT64_MIN);
    test_check(wharf_get_bool(wharf_current, "/b", &b) && !b);
    test_check(wharf_get_strings(wharf_current, "/s", &list) && list.len == 2);
    test_same(list.items[1].ptr, "A");
    test_same(wharf_get_raw(wharf_current, "/d").ptr, "1.5");
    test_same(wharf_get_raw(wharf_current, "").ptr, OBJECT);
    test_same(wharf_get_raw(wharf_previous, "").ptr, NULL);
    test_check(wharf_get_int(wharf_text(wharf_s("{\"x\":7}")), "/x", &n) && n == 7);
    wharf_str many[2];
    wharf_get_many(wharf_current, (const char *[]){"/b", "/none"}, 2, many);
    test_same(many[0].ptr, "false");
    test_same(many[1].ptr, NULL);
    test_check(!wharf_failed());
    return wharf_done();
}

static const wharf_view *from;
static const char *pointer;
static char type;

static wharf_result one(const wharf_event *event) {
    (void)event;
    wharf_str text;
    wharf_strs list;
    int64_t n;
    double d;
    bool b;
    bool found = type == 's'   ? wharf_get_string(from, pointer, &text)
                 : type == 'i' ? wharf_get_int(from, pointer, &n)
                 : type == 'd' ? wharf_get_double(from, pointer, &d)
                 : type == 'b' ? wharf_get_bool(from, pointer, &b)
                               : wharf_get_strings(from, pointer, &list);
    test_check(!found && wharf_failed());
    test_check(!wharf_present(wharf_get_raw(wharf_current, "")));
    wharf_error("not what the call ends with");
    wharf_info("not logged");
    return wharf_requeue_after(1);
}

static void read_errors(void) {
    const struct {
        char type;
        const char *pointer, *message;
    } cases[] = {
        {'s', "/n", "/n cannot be read: expected a string, found -9223372036854775808"},
        {'s', "", "the object cannot be read: expected a string, found an object"},
        {'i', "/big", "/big cannot be read: expected an integer of 64 bits, found 9223372036854775808"},
        {'i', "/d", "/d cannot be read: expected an integer of 64 bits, found 1.5"},
        {'i', "/metadata/name", "/metadata/name cannot be read: expected an integer of 64 bits, found a string"},
        {'d', "/inf", "/inf cannot be read: expected a number of double precision, found 1e999"},
        {'d', "/b", "/b cannot be read: expected a number of double precision, found a boolean"},
        {'b', "/s", "/s cannot be read: expected a boolean, found a list"},
        {'l', "/mixed", "/mixed/1 cannot be read: expected a string, found 1"},
        {'l', "/metadata", "/metadata cannot be read: expected a list of strings, found an object"},
    };
    from = wharf_current;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_begin(NULL);
        type = cases[i].type;
        pointer = cases[i].pointer;
        test_outcome outcome = run(one, OBJECT);
        test_check(outcome.end == TEST_PERMANENT && test_log_count() == 0);
        test_same(outcome.reason, "ObjectInvalid");
        test_same(outcome.message, cases[i].message);
    }
}

static wharf_result text_error(const wharf_event *event) {
    (void)event;
    int64_t n = 0;
    wharf_get_int(wharf_text(wharf_s("{\"x\":true}")), "/x", &n);
    return wharf_done();
}

static wharf_result caught(const wharf_event *event) {
    (void)event;
    int64_t n = 3;
    wharf_str text = wharf__absent;
    test_check(!wharf_get_int(wharf_current, "/d", &n) && n == 3);
    test_check(wharf_catch(&text) && !wharf_catch(NULL));
    test_same(text.ptr, "/d cannot be read: expected an integer of 64 bits, found 1.5");
    test_check(wharf_get_int(wharf_current, "/n", &n) && n == INT64_MIN);
    return wharf_done();
}

static wharf_result configured(const wharf_event *event) {
    (void)event;
    wharf_str greeting = wharf_s("hello");
    int64_t number = 0;
    wharf_config_only("greeting", "number");
    wharf_get_string(wharf_config, "/greeting", &greeting);
    wharf_get_int(wharf_config, "/number", &number);
    wharf_info(greeting.ptr, wharf_kv("number", number), wharf_kv("raw", wharf_get_raw(wharf_config, "")));
    return wharf_done();
}

static void validate(void) {
    configured(NULL);
    wharf_refuse("one %s more", "sentence");
}

static void configurations(void) {
    test_begin("{\"greeting\":\"hi\"}");
    test_check(run(configured, "{}").end == TEST_DONE && test_log_count() == 1);
    test_same(test_log_message(0), "hi");
    test_same(test_log_field(0, "number"), "0");
    test_same(test_log_field(0, "raw"), "{\"greeting\":\"hi\"}");

    test_begin("{\"greeting\":1,\"number\":2.5,\"other\":true}");
    test_outcome outcome = run(configured, "{}");
    test_check(outcome.end == TEST_PERMANENT);
    test_same(outcome.reason, "ConfigInvalid");
    test_same(outcome.message, "config: unknown field `other`");

    on_validate = validate;
    test_check(test_validate() == 4);
    test_same(test_refusal(0), "config: unknown field `other`");
    test_same(test_refusal(1), "config/greeting: expected a string, found 1");
    test_same(test_refusal(2), "config/number: expected an integer of 64 bits, found 2.5");
    test_same(test_refusal(3), "one sentence more");

    test_begin("{\"greeting\":null,\"number\":null}");
    test_check(test_validate() == 3);
    test_same(test_refusal(0), "config/greeting: expected a string, found null");
    test_same(test_refusal(1), "config/number: expected an integer of 64 bits, found null");
    on_validate = NULL;
    test_check(test_validate() == 0);
}

void read_tests(void) {
    test_begin(NULL);
    test_check(run(all_types, OBJECT).end == TEST_DONE);
    read_errors();
    test_check(run(caught, OBJECT).end == TEST_DONE);
    test_outcome outcome = run(text_error, OBJECT);
    test_check(outcome.end == TEST_RETRY);
    test_same(outcome.reason, "ObjectInvalid");
    configurations();
}
