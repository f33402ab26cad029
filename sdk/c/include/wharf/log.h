/* Log lines: a constant message, and values in fields. The host adds plugin, revision, key and trace. */
#ifndef WHARF_LOG_H
#define WHARF_LOG_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wharf_level { WHARF_TRACE, WHARF_DEBUG, WHARF_INFO, WHARF_WARN, WHARF_ERROR } wharf_level;

/* A value beside the message, made by wharf_kv. */
typedef struct wharf_field {
    const char *name;
    wharf_str value;
} wharf_field;

/* Would the host keep a line of this level? The macros ask by themselves. */
bool wharf_enabled(wharf_level level);
/* Writes one line. The macros are shorter. */
void wharf_emit(wharf_level level, const char *message, const wharf_field *fields, size_t count);

wharf_field wharf_kv_str(const char *name, wharf_str value);
wharf_field wharf_kv_text(const char *name, const char *value);
wharf_field wharf_kv_int(const char *name, int64_t value);
wharf_field wharf_kv_uint(const char *name, uint64_t value);
wharf_field wharf_kv_double(const char *name, double value);
wharf_field wharf_kv_bool(const char *name, bool value);

/* A constant message, and values in fields:
     wharf_warn("label missing", wharf_kv("label", label), wharf_kv("items", 3)); */
#define wharf_trace(...) wharf_log(WHARF_TRACE, __VA_ARGS__)
#define wharf_debug(...) wharf_log(WHARF_DEBUG, __VA_ARGS__)
#define wharf_info(...) wharf_log(WHARF_INFO, __VA_ARGS__)
#define wharf_warn(...) wharf_log(WHARF_WARN, __VA_ARGS__)
#define wharf_err(...) wharf_log(WHARF_ERROR, __VA_ARGS__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifdef __cplusplus

inline wharf_field wharf_kv(const char *name, wharf_str value) { return wharf_kv_str(name, value); }
inline wharf_field wharf_kv(const char *name, const char *value) { return wharf_kv_text(name, value); }
inline wharf_field wharf_kv(const char *name, bool value) { return wharf_kv_bool(name, value); }
inline wharf_field wharf_kv(const char *name, double value) { return wharf_kv_double(name, value); }
inline wharf_field wharf_kv(const char *name, unsigned long long value) { return wharf_kv_uint(name, value); }
template <typename Integer> wharf_field wharf_kv(const char *name, Integer value) {
    return wharf_kv_int(name, static_cast<int64_t>(value));
}

template <typename... Fields> void wharf_log(wharf_level level, const char *message, Fields... fields) {
    const wharf_field all[] = {fields..., wharf_field()};
    if (wharf_enabled(level)) {
        wharf_emit(level, message, all, sizeof...(fields));
    }
}

#else

/* A field of any type that has a text: wharf_kv("items", 3). */
#define wharf_kv(name, value)                                                                                        \
    _Generic((value),                                                                                                \
        wharf_str: wharf_kv_str,                                                                                     \
        char *: wharf_kv_text,                                                                                       \
        const char *: wharf_kv_text,                                                                                 \
        bool: wharf_kv_bool,                                                                                         \
        float: wharf_kv_double,                                                                                      \
        double: wharf_kv_double,                                                                                     \
        unsigned long: wharf_kv_uint,                                                                                \
        unsigned long long: wharf_kv_uint,                                                                           \
        default: wharf_kv_int)(name, value)

/* One line of a level that is known at run time. The fields are only made if it is kept. */
#define wharf_log(level, ...) wharf_log_fields(level, __VA_ARGS__, {NULL, {NULL, 0}})
#define wharf_log_fields(level, message, ...)                                                                        \
    (wharf_enabled(level)                                                                                            \
         ? wharf_emit(level, message, (const wharf_field[]){__VA_ARGS__},                                            \
                      sizeof((const wharf_field[]){__VA_ARGS__}) / sizeof(wharf_field) - 1)                          \
         : (void)0)

#endif

#endif
