/*
 * What C's library asks of WASI, answered inside the plugin, so that a component imports nothing
 * but wharf: what is printed becomes log lines, clocks and randomness are the host's, there are
 * no arguments and no environment. Only what a plugin uses is linked. Files and sockets are not
 * answered: a plugin that uses them cannot be built.
 */
#ifdef __wasm__

#include "internal.h"

/* WASI's numbers. */
enum { OK = 0, BADF = 8, SPIPE = 70, STDOUT = 1, STDERR = 2, CHARACTER_DEVICE = 2, MAX_LINE = 4096 };

/* The stand-in for an import of wasi_snapshot_preview1, by the name that libc has for it. */
#define WASI(name) __imported_wasi_snapshot_preview1_##name

typedef struct {
    char text[MAX_LINE];
    size_t len;
} line;

static void log_line(line *l, int32_t stream) {
    const wharf_field field = {"stream", wharf_s(stream == STDERR ? "stderr" : "stdout")};
    wharf_level level = stream == STDERR ? WHARF_WARN : WHARF_INFO;
    if (l->len && wharf_enabled(level)) {
        wharf_emit(level, wharf__copy(l->text, l->len).ptr, &field, 1);
    }
    l->len = 0;
}

typedef struct {
    const char *bytes;
    size_t len;
} iovec;

int32_t WASI(fd_write)(int32_t stream, int32_t vectors, int32_t count, int32_t written) {
    static line lines[2];
    if (stream != STDOUT && stream != STDERR) {
        return BADF;
    }
    line *l = &lines[stream == STDERR];
    size_t total = 0;
    for (const iovec *v = (const iovec *)vectors; count > 0; count--, v++) {
        for (size_t i = 0; i < v->len; i++) {
            bool end = v->bytes[i] == '\n';
            if (end || l->len == MAX_LINE) {
                log_line(l, stream);
            }
            if (!end) {
                l->text[l->len++] = v->bytes[i];
            }
        }
        total += v->len;
    }
    *(size_t *)written = total;
    return OK;
}

int32_t WASI(fd_read)(int32_t stream, int32_t vectors, int32_t count, int32_t read) {
    (void)vectors;
    (void)count;
    *(size_t *)read = 0;
    return stream == 0 ? OK : BADF;
}

int32_t WASI(fd_close)(int32_t stream) {
    return stream <= STDERR ? OK : BADF;
}

/* The parts of libc that are written in Zig know it by another name. */
int32_t wharf__fd_close(int32_t stream) __asm__("fd_close|wasi_snapshot_preview1")
    __attribute__((alias("__imported_wasi_snapshot_preview1_fd_close")));

int32_t WASI(fd_seek)(int32_t stream, int64_t offset, int32_t whence, int32_t position) {
    (void)offset;
    (void)whence;
    (void)position;
    return stream <= STDERR ? SPIPE : BADF;
}

int32_t WASI(fd_fdstat_get)(int32_t stream, int32_t stat) {
    if (stream > STDERR) {
        return BADF;
    }
    memset((void *)stat, 0, 24);
    *(uint8_t *)stat = CHARACTER_DEVICE;
    return OK;
}

int32_t WASI(fd_prestat_get)(int32_t folder, int32_t prestat) {
    (void)folder;
    (void)prestat;
    return BADF;
}

int32_t WASI(fd_prestat_dir_name)(int32_t folder, int32_t path, int32_t len) {
    (void)folder;
    (void)path;
    (void)len;
    return BADF;
}

int32_t WASI(clock_time_get)(int32_t clock, int64_t precision, int32_t time) {
    (void)clock;
    (void)precision;
    wharf_time now = wharf_now();
    *(uint64_t *)time = now.seconds * 1000000000ULL + now.nanoseconds;
    return OK;
}

int32_t WASI(clock_res_get)(int32_t clock, int32_t resolution) {
    (void)clock;
    *(uint64_t *)resolution = 1000000;
    return OK;
}

int32_t WASI(random_get)(int32_t bytes, int32_t len) {
    for (size_t done = 0; done < (size_t)len;) {
        wharf_str random = wharf_random((uint32_t)((size_t)len - done));
        memcpy((char *)bytes + done, random.ptr, random.len);
        done += random.len;
    }
    return OK;
}

static int32_t none(int32_t count, int32_t size) {
    *(size_t *)count = 0;
    *(size_t *)size = 0;
    return OK;
}

int32_t WASI(environ_sizes_get)(int32_t count, int32_t size) {
    return none(count, size);
}

int32_t WASI(environ_get)(int32_t entries, int32_t bytes) {
    (void)entries;
    (void)bytes;
    return OK;
}

int32_t WASI(args_sizes_get)(int32_t count, int32_t size) {
    return none(count, size);
}

int32_t WASI(args_get)(int32_t entries, int32_t bytes) {
    (void)entries;
    (void)bytes;
    return OK;
}

int32_t WASI(sched_yield)(void) {
    return OK;
}

_Noreturn void WASI(proc_exit)(int32_t code) {
    (void)code;
    wharf__panic("exit: a plugin cannot end its process; return a failure instead");
}

#endif
