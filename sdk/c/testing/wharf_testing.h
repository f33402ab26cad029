/*
 * A mock of the host, so that a plugin's logic is tested natively: compile the plugin, the SDK's
 * sources, testing.c and the test with the machine's own C compiler, and run it.
 *
 * The mock holds a configuration and a small cluster, makes calls of the plugin, and records what
 * it did. It knows no RBAC, no selectors and no `fields`; apply stores what is applied, and a
 * merge patch is recorded but not merged. What depends on those is tested against an API server.
 *
 *   int main(void) {
 *       test_begin("{\"requiredLabel\": \"team\"}");
 *       test_outcome outcome = test_add("{\"metadata\":{\"name\":\"a\"}}");
 *       test_check(outcome.end == TEST_DONE && test_log_count() == 1);
 *       return test_end();
 *   }
 *
 * JSON that is handed in must be compact (no spaces), as the host's is, where raw reads matter.
 * Texts that come back live until the next test_begin or test_end.
 */
#ifndef WHARF_TESTING_H
#define WHARF_TESTING_H

#include "wharf.h"

/* Checks a condition; a failed one is printed, and makes test_end return 1. */
#define test_check(condition) test_check_at((condition), #condition, __FILE__, __LINE__)
bool test_check_at(bool holds, const char *condition, const char *file, int line);
/* Are two texts the same? Prints both if not. NULL is no text. */
#define test_same(actual, expected) test_same_at((actual), (expected), #actual, __FILE__, __LINE__)
bool test_same_at(const char *actual, const char *expected, const char *what, const char *file, int line);

/* A new host: empty cluster, this configuration (NULL: none). */
void test_begin(const char *config);
/* Forgets everything, prints how many checks there were; what main returns. */
int test_end(void);

typedef enum { TEST_DONE, TEST_REQUEUE, TEST_RETRY, TEST_PERMANENT, TEST_TRAP } test_ending;

typedef struct {
    test_ending end;
    bool has_after;
    uint32_t after_ms;
    const char *reason;  /* of a failure */
    const char *message; /* of a failure or a trap */
} test_outcome;

test_outcome test_add(const char *object);
test_outcome test_update(const char *previous, const char *current);
test_outcome test_delete(const char *last);
/* A call of which everything is said, the key too. */
test_outcome test_call(wharf_event event, const char *previous, const char *current);

/* What is wrong with the configuration: a sentence each; how many. */
size_t test_validate(void);
const char *test_refusal(size_t index);
/* The description as JSON. */
const char *test_describe(void);

/* Lines below this level are dropped; WHARF_TRACE at first. */
void test_log_level(wharf_level level);
size_t test_log_count(void);
wharf_level test_log_level_of(size_t index);
const char *test_log_message(size_t index);
/* NULL if the line has no such field. */
const char *test_log_field(size_t index, const char *name);

typedef enum { TEST_GET, TEST_LIST, TEST_CREATE, TEST_APPLY, TEST_PATCH, TEST_DELETE } test_operation;

/* Puts an object into the cluster, as another client would. */
void test_object(const char *json);
/* The next use of this function of the cluster fails so. */
void test_fail(test_operation operation, wharf_api_code code, const char *text, uint32_t retry_after_ms);

typedef struct {
    test_operation operation;
    const char *target; /* "apps/v1 Deployment team-a/web" */
    const char *body;   /* the object or patch as sent; NULL for a delete */
    bool dry_run;
    bool force;
} test_write;

size_t test_write_count(void);
test_write test_write_at(size_t index);

typedef struct {
    const char *about; /* as a write's target */
    const char *uid;
    wharf_event_type type;
    const char *reason;
    const char *message;
} test_event;

size_t test_event_count(void);
test_event test_event_at(size_t index);

/* The clock: seconds since 1970. It stands still. */
void test_now(uint32_t seconds);

#endif
