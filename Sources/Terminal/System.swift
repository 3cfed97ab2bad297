import CLibrary

/// Functions of the C library that several types of this target call.
enum System {
  static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool {
    isatty(descriptor) == 1
  }

  /// Returns the size of the terminal's window, with 0 for a number that the terminal does not report. Nil when the
  /// descriptor is not a terminal.
  static func windowSize(_ descriptor: Int32) -> (rows: Int, columns: Int)? {
    var window = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0 else { return nil }
    return (Int(window.ws_row), Int(window.ws_col))
  }

  /// Returns the time in nanoseconds since an unspecified moment, by a clock that never goes back; 0 when the clock
  /// fails.
  static func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return 0 }
    return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
  }

  static func message(_ error: Int32) -> String {
    unsafe String(cString: strerror(error))
  }
}
