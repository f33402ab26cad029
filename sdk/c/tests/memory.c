/* The memory of calls: aligned, kept apart, used again. */
#include "tests.h"

static wharf_result many_sizes(const wharf_event *event) {
    (void)event;
    unsigned char *blocks[64];
    for (size_t i = 0; i < 64; i++) {
        blocks[i] = wharf_alloc(i * i * 17);
        test_check((uintptr_t)blocks[i] % 16 == 0);
        memset(blocks[i], (int)i, i * i * 17);
    }
    for (size_t i = 1; i < 64; i++) {
        test_check(blocks[i][0] == i && blocks[i][i * i * 17 - 1] == i);
    }
    return wharf_done();
}

static const void *places[3];
static size_t call;

static wharf_result large(const wharf_event *event) {
    (void)event;
    wharf_alloc(30000);
    places[call++] = wharf_alloc(1000000);
    return wharf_done();
}

static wharf_result too_much(const wharf_event *event) {
    (void)event;
    wharf__take(SIZE_MAX - 8);
    return wharf_done();
}

static wharf_result long_text(const wharf_event *event) {
    (void)event;
    char *bytes = wharf_alloc(100001);
    memset(bytes, 'x', 100000);
    test_check(wharf_format("%s!", bytes).len == 100001);
    return wharf_done();
}

void memory_tests(void) {
    test_begin(NULL);
    test_check(run(many_sizes, "{}").end == TEST_DONE);
    while (call < 3) {
        test_check(run(large, "{}").end == TEST_DONE);
    }
    test_check(places[0] == places[1] && places[1] == places[2]);
    test_check(run(long_text, "{}").end == TEST_DONE);
    test_outcome outcome = run(too_much, "{}");
    test_check(outcome.end == TEST_TRAP && strncmp(outcome.message, "out of memory", 13) == 0);
    test_check(run(many_sizes, "{}").end == TEST_DONE);
}
