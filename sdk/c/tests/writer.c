/* Writing JSON, right and wrong. */
#include <float.h>
#include <math.h>

#include "tests.h"

static wharf_result all_kinds(const wharf_event *event) {
    (void)event;
    wharf_writer w = {0};
    wharf_put_object(&w, NULL);
    wharf_put_text(&w, "text", "a\"\\\n\x01\xc3\xa4");
    wharf_put_string(&w, "absent", wharf__absent);
    wharf_put_int(&w, "min", INT64_MIN);
    wharf_put_bool(&w, "yes", true);
    wharf_put_raw(&w, "raw", wharf_s("{\"x\":1.0}"));
    wharf_put_raw(&w, "none", wharf__absent);
    wharf_put_array(&w, "list\"");
    wharf_put_null(&w, NULL);
    wharf_put_object(&w, NULL);
    wharf_put_end(&w);
    wharf_put_array(&w, NULL);
    wharf_put_end(&w);
    wharf_put_end(&w);
    wharf_put_bool(&w, "no", false);
    wharf_put_end(&w);
    test_same(wharf_json(&w).ptr, "{\"text\":\"a\\\"\\\\\\n\\u0001\xc3\xa4\",\"absent\":null,\"min\":-9223372036854775808,"
                                  "\"yes\":true,\"raw\":{\"x\":1.0},\"none\":null,\"list\\\"\":[null,{},[]],\"no\":false}");
    return wharf_done();
}

static wharf_result doubles(const wharf_event *event) {
    (void)event;
    const double values[] = {0, 1, -1.5, 0.1, 1e300, DBL_MAX, DBL_MIN, 123456789012345680.0, NAN, INFINITY};
    const char *const texts[] = {"0", "1", "-1.5", "0.1", "1e+300", "1.7976931348623157e+308", "2.2250738585072014e-308",
                                 "1.2345678901234568e+17", "null", "null"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        wharf_writer w = {0};
        wharf_put_double(&w, NULL, values[i]);
        test_same(wharf_json(&w).ptr, texts[i]);
    }
    return wharf_done();
}

static int mistake;

static wharf_result mistakes(const wharf_event *event) {
    (void)event;
    wharf_writer w = {0};
    switch (mistake) {
    case 0: wharf_put_int(&w, "name", 1); break;
    case 1: wharf_put_object(&w, NULL); wharf_put_int(&w, NULL, 1); break;
    case 2: wharf_put_array(&w, NULL); wharf_put_int(&w, "name", 1); break;
    case 3: wharf_put_int(&w, NULL, 1); wharf_put_int(&w, NULL, 1); break;
    case 4: wharf_put_end(&w); break;
    case 5: wharf_put_array(&w, NULL); wharf_json(&w); break;
    case 6: wharf_json(&w); break;
    default:
        for (int i = 0; i < 64; i++) {
            wharf_put_array(&w, NULL);
        }
    }
    return wharf_done();
}

static wharf_result deep(const wharf_event *event) {
    (void)event;
    wharf_writer w = {0};
    for (int i = 0; i < 63; i++) {
        wharf_put_object(&w, i ? "a" : NULL);
    }
    for (int i = 0; i < 63; i++) {
        wharf_put_end(&w);
    }
    test_check(wharf_json(&w).len == 63 * 2 + 62 * 4);
    return wharf_done();
}

void writer_tests(void) {
    test_begin(NULL);
    test_check(run(all_kinds, "{}").end == TEST_DONE);
    test_check(run(doubles, "{}").end == TEST_DONE);
    test_check(run(deep, "{}").end == TEST_DONE);
    for (mistake = 0; mistake < 8; mistake++) {
        test_outcome outcome = run(mistakes, "{}");
        test_check(outcome.end == TEST_TRAP && strncmp(outcome.message, "wharf_", 6) == 0);
    }
}
