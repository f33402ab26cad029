/*
 * The memory of a call: a pointer that moves forward through blocks which are kept from call to
 * call. Owns what the host allocates in the plugin too (`cabi_realloc`), so everything that a
 * call sees lives and dies together. Never gives a block back: a plugin's memory cannot shrink.
 */
#include "internal.h"

#ifndef __wasm__
#include <stdlib.h>
#endif

enum { ALIGN = 16, PAGE = 65536, FIRST = 40960 };

typedef struct block {
    struct block *next;
    char *start;
    char *end;
} block;

/* Most calls need no more than this, which lies in memory that an instance has anyway. */
static _Alignas(ALIGN) char first_bytes[FIRST];
static block first = {NULL, first_bytes, first_bytes + FIRST};
static block *current = &first;
static char *at = first_bytes;
static bool ended;

wharf__call wharf__running;

static void rewind_if_ended(void) {
    if (ended) {
        ended = false;
        current = &first;
        at = first.start;
    }
}

static char *aligned(char *pointer, size_t align) {
    return (char *)(((uintptr_t)pointer + align - 1) & ~(uintptr_t)(align - 1));
}

/* Fresh memory, of whole pages; NULL if there is none. */
static char *fresh(size_t *size) {
    *size = (*size + PAGE - 1) / PAGE * PAGE;
#ifdef __wasm__
    size_t page = __builtin_wasm_memory_grow(0, *size / PAGE);
    return page == SIZE_MAX ? NULL : (char *)(page * PAGE);
#else
    return malloc(*size);
#endif
}

/* Goes on to a block that has room, an old one if possible. */
static void next_block(size_t size) {
    if (size > SIZE_MAX / 2) {
        wharf__panic("out of memory: too much was asked for at once");
    }
    while (current->next) {
        current = current->next;
        at = current->start;
        if ((size_t)(current->end - at) >= size) {
            return;
        }
    }
    size_t room = size + ALIGN + sizeof(block);
    char *bytes = fresh(&room);
    if (!bytes) {
        wharf__panic("out of memory: raise spec.limits.memory, or read less at once");
    }
    if (bytes == current->end && current != &first) {
        current->end += room;
        return;
    }
    block *made = (block *)bytes;
    made->next = NULL;
    made->start = aligned(bytes + sizeof(block), ALIGN);
    made->end = bytes + room;
    current->next = made;
    current = made;
    at = made->start;
}

static void *take(size_t size, size_t align) {
    rewind_if_ended();
    char *start = aligned(at, align);
    if (start > current->end || (size_t)(current->end - start) < size) {
        next_block(size < SIZE_MAX - align ? size + align : size);
        start = aligned(at, align);
    }
    at = start + size;
    return start;
}

void *wharf__take(size_t size) {
    return take(size, ALIGN);
}

void *wharf_alloc(size_t size) {
    return memset(wharf__take(size), 0, size);
}

void wharf__begin(void) {
    rewind_if_ended();
    memset(&wharf__running, 0, sizeof wharf__running);
}

void wharf__end(void) {
    ended = true;
}

/* How the host allocates in the plugin. Texts get their NUL here. Replaces the weak one of the
   bindings. */
#ifdef __wasm__
__attribute__((export_name("cabi_realloc")))
#endif
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    char *bytes = take(size + 1, align);
    if (old && old_size) {
        memcpy(bytes, old, old_size < size ? old_size : size);
    }
    bytes[size] = '\0';
    return bytes;
}
