/* What the files of the conformance guest share. */
#ifndef GUEST_H
#define GUEST_H

#include <wharf.h>

/* A command takes what it needs from `/args`. False: it is not one of this file's. */
bool read_command(const char *command, const wharf_event *event, wharf_result *result);
bool host_command(const char *command, const wharf_event *event, wharf_result *result);
bool end_command(const char *command, const wharf_event *event, wharf_result *result);
bool cluster_command(const char *command, const wharf_event *event, wharf_result *result);

/* The answer of a command: one log line with what was written. */
wharf_result report(const wharf_writer *writer);
wharf_result report_string(wharf_str value);
wharf_result report_int(int64_t value);
wharf_result report_bool(bool value);

/* Arguments; what is left out is empty, 0 or false. */
wharf_str arg_string(const char *name);
int64_t arg_int(const char *name);
bool arg_bool(const char *name);
/* A list of strings, with a NULL behind the last one; `*count` may be NULL. */
const char *const *arg_strings(const char *name, size_t *count);
/* Absent if it was left out. */
wharf_str arg_raw(const char *name);

static inline bool is(const char *command, const char *name) {
    return strcmp(command, name) == 0;
}

#endif
