/* What the plugin does, against a mock of the host. */
#include <wharf_testing.h>

int main(void) {
    test_begin(NULL);
    test_check(test_add("{}").end == TEST_DONE);
    test_check(test_update("{}", "{}").end == TEST_DONE);
    test_check(test_delete("{}").end == TEST_DONE);
    const char *const expected[][2] = {{"add", "1"}, {"update", "2"}, {"delete", "3"}};
    if (test_check(test_log_count() == 3)) {
        for (size_t i = 0; i < 3; i++) {
            test_same(test_log_field(i, "change"), expected[i][0]);
            test_same(test_log_field(i, "count"), expected[i][1]);
        }
    }
    test_check(test_validate() == 0);
    return test_end();
}
