import CLibrary

/// What this target uses from the C library besides writing.
enum System {
  /// An environment variable; nil when it is not set.
  static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// Whether the descriptor is a terminal.
  static func isTerminal(_ descriptor: Int32) -> Bool {
    isatty(descriptor) == 1
  }

  /// The columns of the terminal's window; nil when the descriptor is not a terminal, or the terminal does not report
  /// them.
  static func windowColumns(_ descriptor: Int32) -> Int? {
    var window = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else {
      return nil
    }
    return Int(window.ws_col)
  }

  /// Nanoseconds of a clock that never goes back.
  static func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return 0 }
    return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }

  /// The text of an `errno`.
  static func message(_ error: Int32) -> String {
    unsafe String(cString: strerror(error))
  }
}
