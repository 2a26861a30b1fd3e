/* A layer over libc for one process: calls on chosen files fail with a chosen errno, and the clock of the day is off.
 *
 * FAULT_LAYER names a file of one `struct control`, which is mapped: whoever writes it changes what happens from then
 * on. The process's children do not get the layer. Calls: open(2), openat(2), write(2), fsync(2), rename(2), mkdir(2),
 * read(2), posix_fallocate(3), clock_gettime(2), gettimeofday(2), time(2).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPENS = 1, WRITES = 2, SYNCS = 4, RENAMES = 8, FOLDERS = 16, READS = 32 };

struct control {
    int32_t error;
    int32_t calls;
    int64_t clock_s;
    int64_t hits;
    char root[1000];
    char part[1000];
};

static struct control none, *control = &none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_LAYER");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *map = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) control = map;
        syscall(SYS_close, fd);
    }
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT_LAYER");
}

static int named(const char *path, int call) {
    if (!(control->calls & call) || !control->error || !path) return 0;
    const char *root = strstr(path, control->root);
    if (!root || !strstr(root + strlen(control->root), control->part)) return 0;
    __atomic_add_fetch(&control->hits, 1, __ATOMIC_RELAXED);
    errno = control->error;
    return 1;
}

static int opened(int fd, int call) {
    char link[64], path[4096];
    if (!(control->calls & call) || !control->error) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return named(path, call);
}

static int below(int folder, const char *path, int call) {
    return path && (path[0] == '/' || folder == AT_FDCWD) ? named(path, call) : opened(folder, call);
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        NEXT(name);  \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && named(path, OPENS)) return -1; \
        return next(path, flags, mode);                                             \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                \
    int name(int folder, const char *path, int flags, ...) {                        \
        NEXT(name);  \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && below(folder, path, OPENS)) return -1; \
        return next(folder, path, flags, mode);                                     \
    }
OPENAT(openat)
OPENAT(openat64)

#define OF_FD(result, name, call, parameters, arguments)                            \
    result name parameters {                                                        \
        NEXT(name);  \
        if (opened(fd, call)) return -1;                                            \
        return next arguments;                                                      \
    }
OF_FD(ssize_t, write, WRITES, (int fd, const void *data, size_t size), (fd, data, size))
OF_FD(ssize_t, pwrite, WRITES, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
OF_FD(ssize_t, pwrite64, WRITES, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
OF_FD(ssize_t, writev, WRITES, (int fd, const struct iovec *data, int count), (fd, data, count))
OF_FD(ssize_t, read, READS, (int fd, void *data, size_t size), (fd, data, size))
OF_FD(ssize_t, pread, READS, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
OF_FD(ssize_t, pread64, READS, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
OF_FD(int, fsync, SYNCS, (int fd), (fd))
OF_FD(int, fdatasync, SYNCS, (int fd), (fd))

#define FALLOCATE(name, offset)                                                     \
    int name(int fd, offset at, offset size) {                                      \
        NEXT(name);  \
        if (opened(fd, WRITES)) return errno;                                       \
        return next(fd, at, size);                                                  \
    }
FALLOCATE(posix_fallocate, off_t)
FALLOCATE(posix_fallocate64, off64_t)

int rename(const char *old, const char *new) {
    NEXT(rename);
    if (named(new, RENAMES)) return -1;
    return next(old, new);
}

int renameat(int old_folder, const char *old, int folder, const char *path) {
    NEXT(renameat);
    if (below(folder, path, RENAMES)) return -1;
    return next(old_folder, old, folder, path);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    if (named(path, FOLDERS)) return -1;
    return next(path, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    NEXT(clock_gettime);
    int result = next(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += control->clock_s;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    NEXT(gettimeofday);
    int result = next(now, zone);
    if (!result) now->tv_sec += control->clock_s;
    return result;
}

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}
