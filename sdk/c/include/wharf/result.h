/* How a call ends: done, again later, or failed. When a key comes back is the host's business. */
#ifndef WHARF_RESULT_H
#define WHARF_RESULT_H

#include "wharf/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a handler returns, made by the functions below. */
typedef struct wharf_result {
    uint8_t end; /* the SDK's own business */
    bool has_after;
    uint32_t after_ms;
    wharf_str reason;
    wharf_str message;
} wharf_result;

/* Forget the key until it changes again. */
wharf_result wharf_done(void);
/* Call again after this time even if nothing changes. */
wharf_result wharf_requeue_after(uint32_t ms);
/* Try again, with the queue's back-off. The reason is one CamelCase word of the description. */
wharf_result wharf_retry(const char *reason, const char *format, ...) WHARF_PRINTF(2, 3);
/* Do not try again until the object changes. */
wharf_result wharf_permanent(const char *reason, const char *format, ...) WHARF_PRINTF(2, 3);
/* Any other error: a retry with reason HandlerError. */
wharf_result wharf_error(const char *format, ...) WHARF_PRINTF(1, 2);
/* A retry, not before this time: return wharf_after(wharf_retry(…), 500); */
wharf_result wharf_after(wharf_result retry, uint32_t ms);

/* Ends the call with this failure unless it is caught: for functions that cannot return one. Of
   several the first counts. */
void wharf_fail(wharf_result failure);
/* Is there an error that nobody has caught? */
bool wharf_failed(void);
/* Takes that error, and goes on: true if there was one. Its text goes to `*text`, or nowhere
   if that is NULL. */
bool wharf_catch(wharf_str *text);
/* Logs the text as an error and ends the call by a trap: for what must not happen. */
__attribute__((noreturn)) void wharf_panic(const char *format, ...) WHARF_PRINTF(1, 2);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
