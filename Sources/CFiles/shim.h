// Calls of Linux that Swift does not import from every C library: extended attributes, and a rename that refuses to
// overwrite.
#if defined(__linux__)
#include <errno.h>
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
#endif
