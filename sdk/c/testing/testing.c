/* The mock's calls and its bookkeeping. The host's functions are in host.c and cluster.c. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "mock.h"

mock_state mock;

static struct kept {
    struct kept *next;
} *kept;

static size_t checks, failed_checks;
static jmp_buf trap;
static bool calling;

void wharf__trap(void) {
    if (!calling) {
        fprintf(stderr, "a panic outside of a call\n");
        exit(1);
    }
    longjmp(trap, 1);
}

const char *mock_copy(const char *ptr, size_t len) {
    struct kept *block = malloc(sizeof *block + len + 1);
    if (!block) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    block->next = kept;
    kept = block;
    char *text = (char *)(block + 1);
    if (len) {
        memcpy(text, ptr, len);
    }
    text[len] = '\0';
    return text;
}

size_t mock_next(size_t *count) {
    if (*count == MOCK_MAX) {
        fprintf(stderr, "the mock remembers %d of a kind at most: begin a new test in between\n", MOCK_MAX);
        exit(1);
    }
    return (*count)++;
}

static void forget(void) {
    while (kept) {
        struct kept *next = kept->next;
        free(kept);
        kept = next;
    }
    memset(&mock, 0, sizeof mock);
}

bool test_check_at(bool holds, const char *condition, const char *file, int line) {
    checks++;
    if (!holds) {
        failed_checks++;
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    }
    return holds;
}

bool test_same_at(const char *actual, const char *expected, const char *what, const char *file, int line) {
    bool same = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    if (!test_check_at(same, what, file, line)) {
        fprintf(stderr, "  is:     %s\n  should: %s\n", actual ? actual : "(absent)", expected ? expected : "(absent)");
    }
    return same;
}

void test_begin(const char *config) {
    forget();
    mock.config = config ? mock_copy(config, strlen(config)) : "{}";
    mock.seconds = 1700000000;
}

int test_end(void) {
    forget();
    printf("%zu checks, %zu failed\n", checks, failed_checks);
    return failed_checks || !checks;
}

/* Texts of an ending are in the plugin's memory: keep them. */
static test_outcome ended(bool ok, const wharf_plugin_types_outcome_t *outcome,
                          const wharf_plugin_types_failure_t *failure) {
    test_outcome end = {TEST_DONE, false, 0, NULL, NULL};
    if (ok) {
        end.has_after = outcome->tag == WHARF_PLUGIN_TYPES_OUTCOME_REQUEUE_AFTER;
        end.end = end.has_after ? TEST_REQUEUE : TEST_DONE;
        end.after_ms = end.has_after ? outcome->val.requeue_after : 0;
        return end;
    }
    bool permanent = failure->tag == WHARF_PLUGIN_TYPES_FAILURE_PERMANENT;
    const wharf_plugin_types_fault_t *fault = permanent ? &failure->val.permanent : &failure->val.retry;
    end.end = permanent ? TEST_PERMANENT : TEST_RETRY;
    end.has_after = fault->retry_after_ms.is_some;
    end.after_ms = end.has_after ? fault->retry_after_ms.val : 0;
    end.reason = mock_text(fault->reason);
    end.message = mock_text(fault->message);
    return end;
}

static test_outcome trapped(void) {
    test_outcome end = {TEST_TRAP, false, 0, NULL, mock.lines ? mock.line[mock.lines - 1].message : ""};
    /* The host throws the instance away; the next call begins with clean memory. */
    wharf__end();
    return end;
}

static controller_string_t give(wharf_str text) {
    return mock_give(text.ptr ? text.ptr : "", text.len);
}

static wharf_plugin_types_delivery_t delivery(const wharf_event *e) {
    const wharf_object_ref *key = &e->key;
    wharf_plugin_types_delivery_t d = {
        .key = {{give(key->kind.group), give(key->kind.version), give(key->kind.kind)},
                {key->namespace_.ptr != NULL, give(key->namespace_)},
                give(key->name),
                give(key->uid)},
        .resource_version = give(e->resource_version),
        .deleting = e->deleting,
        .subscription = give(e->subscription),
        .removal = (wharf_plugin_types_removal_t)e->removal,
        .final_state_unknown = e->final_state_unknown,
        .cause = (wharf_plugin_types_cause_t)e->cause,
        .attempt = e->attempt,
        .queued_ms = e->queued_ms,
        .budget_ms = e->budget_ms,
        .size = e->size,
        .traceparent = give(e->traceparent),
    };
    return d;
}

test_outcome test_call(wharf_event event, const char *previous, const char *current) {
    mock.previous = previous ? mock_copy(previous, strlen(previous)) : NULL;
    mock.current = current ? mock_copy(current, strlen(current)) : NULL;
    wharf_plugin_types_delivery_t d = delivery(&event);
    wharf_plugin_types_outcome_t outcome;
    wharf_plugin_types_failure_t failure;
    calling = true;
    if (setjmp(trap)) {
        calling = false;
        return trapped();
    }
    bool ok = event.change == WHARF_ADD      ? exports_wharf_plugin_handler_add(&d, &outcome, &failure)
              : event.change == WHARF_UPDATE ? exports_wharf_plugin_handler_update(&d, &outcome, &failure)
                                             : exports_wharf_plugin_handler_delete(&d, &outcome, &failure);
    calling = false;
    mock.previous = mock.current = NULL;
    return ended(ok, &outcome, &failure);
}

/* A call as the host makes it, from what the object says. */
static test_outcome call(wharf_change change, const char *previous, const char *current) {
    wharf_str json = wharf_s(current);
    wharf_event event = {
        .change = change,
        .key = mock_key(current),
        .resource_version = wharf_s("1"),
        .deleting = wharf__find(json, "/metadata/deletionTimestamp").ptr != NULL,
        .subscription = wharf_s("main"),
        .removal = change == WHARF_DELETE ? WHARF_REMOVAL_GONE : WHARF_REMOVAL_NONE,
        .cause = WHARF_CAUSE_WATCH,
        .attempt = 1,
        .budget_ms = 2000,
        .size = (uint32_t)json.len,
        .traceparent = wharf_s(""),
    };
    return test_call(event, previous, current);
}

test_outcome test_add(const char *object) {
    return call(WHARF_ADD, NULL, object);
}

test_outcome test_update(const char *previous, const char *current) {
    return call(WHARF_UPDATE, previous, current);
}

test_outcome test_delete(const char *last) {
    return call(WHARF_DELETE, last, last);
}

size_t test_validate(void) {
    controller_string_t config = mock_give(mock.config, strlen(mock.config));
    controller_list_string_t wrong = {NULL, 0};
    mock.refusals = 0;
    calling = true;
    if (setjmp(trap)) {
        calling = false;
        mock.refusal[mock_next(&mock.refusals)] = trapped().message;
        return mock.refusals;
    }
    bool ok = exports_wharf_plugin_setup_validate_config(&config, &wrong);
    calling = false;
    test_check(ok == (wrong.len == 0));
    for (size_t i = 0; i < wrong.len; i++) {
        mock.refusal[mock_next(&mock.refusals)] = mock_text(wrong.ptr[i]);
    }
    return mock.refusals;
}

const char *test_refusal(size_t index) {
    return index < mock.refusals ? mock.refusal[index] : NULL;
}

const char *test_describe(void) {
    controller_string_t json;
    calling = true;
    if (setjmp(trap)) {
        calling = false;
        return trapped().message;
    }
    exports_wharf_plugin_setup_describe(&json);
    calling = false;
    return mock_text(json);
}
