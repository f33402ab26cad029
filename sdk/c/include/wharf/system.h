/* Time and randomness, from the host. */
#ifndef WHARF_SYSTEM_H
#define WHARF_SYSTEM_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Since 1970-01-01T00:00:00Z. The host's clock is coarse: whole milliseconds. */
typedef struct wharf_time {
    uint32_t seconds;
    uint32_t nanoseconds;
} wharf_time;

wharf_time wharf_now(void);
/* Random bytes; at most 65,536. */
wharf_str wharf_random(uint32_t len);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
