import CLibrary

/// A mutual exclusion lock. The standard library's lock does not exist on the oldest systems that this package
/// supports.
@safe final class Lock: @unchecked Sendable {
  /// The mutex is on the heap, because it must not move. The class is `@unchecked Sendable`, because a lock exists to
  /// be shared between threads.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    _ = unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  func locked<T>(_ body: () -> T) -> T {
    _ = unsafe pthread_mutex_lock(mutex)
    defer { _ = unsafe pthread_mutex_unlock(mutex) }
    return body()
  }
}
