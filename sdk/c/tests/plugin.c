/* The plugin of the tests: its functions are what a test puts in their place. */
#include "tests.h"

wharf_result (*on_add)(const wharf_event *event);
void (*on_validate)(void);
void (*on_describe)(wharf_description *description);

wharf_description wharf_describe(void) {
    wharf_description d = {.name = "test", .version = "1"};
    if (on_describe) {
        on_describe(&d);
    }
    return d;
}

void wharf_validate(void) {
    if (on_validate) {
        on_validate();
    }
}

wharf_result wharf_add(const wharf_event *event) {
    return on_add(event);
}

test_outcome run(wharf_result (*handler)(const wharf_event *event), const char *object) {
    on_add = handler;
    return test_add(object);
}

int main(void) {
    json_tests();
    writer_tests();
    read_tests();
    call_tests();
    cluster_tests();
    memory_tests();
    return test_end();
}
