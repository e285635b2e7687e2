/* Loaded into the gateway before the C library: lets a test fail or delay writes to chosen files.
 *
 * FAULT_CONTROL names a file of five 64-bit numbers that both sides map or write:
 * how many writes there were, the first and the last that fail, the error they fail with, and how
 * long each takes in microseconds. FAULT_FILES is the beginning of the paths that count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
    _Atomic long long count, from, until, error, delay;
};

static struct control *control;
static char files[4096];

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_CONTROL"), *prefix = getenv("FAULT_FILES");
    if (!path || !prefix || strlen(prefix) >= sizeof files) return;
    strcpy(files, prefix);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED) control = map;
}

static int fails(int fd) {
    if (!control) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    if (strncmp(path, files, strlen(files)) != 0) return 0;
    long long number = atomic_fetch_add(&control->count, 1) + 1;
    if (control->delay > 0) usleep((useconds_t)control->delay);
    if (number < control->from || number > control->until) return 0;
    errno = (int)control->error;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    return fails(fd) ? -1 : REAL(write)(fd, bytes, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
    return fails(fd) ? -1 : REAL(pwrite)(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    return fails(fd) ? -1 : REAL(pwrite64)(fd, bytes, count, at);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return fails(fd) ? -1 : REAL(writev)(fd, parts, count);
}
int fsync(int fd) { return fails(fd) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(fd) ? -1 : REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t length) { return fails(fd) ? -1 : REAL(ftruncate)(fd, length); }
int ftruncate64(int fd, off64_t length) { return fails(fd) ? -1 : REAL(ftruncate64)(fd, length); }
