// Calls of Linux that Swift does not import from every C library: extended attributes, a rename that refuses to
// overwrite, a file without a name, and how memory is given back.
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static inline int lifeboat_rename_exclusively(
    int source, const char *from, int target, const char *to) {
#ifdef SYS_renameat2
  const unsigned int noreplace = 1;
  return (int)syscall(SYS_renameat2, source, from, target, to, noreplace);
#else
  errno = ENOSYS;
  return -1;
#endif
}

// Opens a new file that has no name (open(2), O_TMPFILE). Kernels and file systems without such files return an error.
static inline int lifeboat_open_unnamed(int folder) {
  const int unnamed = 020000000 | O_DIRECTORY;
  return openat(folder, ".", unnamed | O_RDWR | O_CLOEXEC, 0600);
}

// Memory of 128 KiB and more goes back to the system when it is freed. Without a word from us, glibc keeps such memory for
// the heap as soon as some was freed (mallopt(3), M_MMAP_THRESHOLD). musl never does.
static inline void lifeboat_give_back_memory(void) {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}
#endif
