/* What the files of the SDK's tests share. */
#ifndef WHARF_TESTS_H
#define WHARF_TESTS_H

#include "../src/internal.h"
#include "wharf_testing.h"

extern wharf_result (*on_add)(const wharf_event *event);
extern void (*on_validate)(void);
extern void (*on_describe)(wharf_description *description);

/* Calls `handler` as add. */
test_outcome run(wharf_result (*handler)(const wharf_event *event), const char *object);

void json_tests(void);
void writer_tests(void);
void read_tests(void);
void call_tests(void);
void cluster_tests(void);
void memory_tests(void);

#endif
