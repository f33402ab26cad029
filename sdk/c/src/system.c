/* Time and randomness, from the host. */
#include "internal.h"

wharf_time wharf_now(void) {
    wharf_plugin_system_timestamp_t now;
    wharf_plugin_system_now(&now);
    wharf_time time = {now.seconds, now.nanoseconds};
    return time;
}

wharf_str wharf_random(uint32_t len) {
    controller_list_u8_t bytes;
    wharf_plugin_system_random(len, &bytes);
    wharf_str random = {bytes.len ? (const char *)bytes.ptr : "", bytes.len};
    return random;
}
