import CLibrary
import Dispatch

/// A terminal in raw mode that shows the alternate screen. The keys that the user presses are read one by one, and a
/// ``Screen`` is drawn on the terminal.
///
/// Call ``restore()`` at the end, even after an error or when a signal ends the process. ``restore()`` may be called
/// from any thread and more than once. After the first call of ``restore()``, nothing is drawn any more.
package final class RawTerminal: @unchecked Sendable {
  // Unchecked Sendable because the lock protects the state.

  /// What ended the wait in ``next(timeout:)``.
  package enum Event: Sendable, Equatable {
    /// The user has pressed keys, which sent these bytes.
    case bytes([UInt8])
    /// The window has a new size, or the process continues after it was stopped: the whole screen must be drawn.
    case resized
    /// The user has pressed Ctrl-Z, or SIGTSTP has come: the process should call ``stop()``.
    case stop
    case woken
    /// The timeout has passed and no byte has come.
    case timeout
    /// The terminal is gone; no further event comes.
    case closed
  }

  /// Why raw mode is not possible.
  package enum Refusal: Error, Equatable {
    case notATerminal
    /// The terminal cannot move its cursor: `TERM` is `dumb` or not set.
    case cannotMoveCursor
    /// A system call failed; the text is the system's message.
    case failed(String)
  }

  private let input: Int32
  private let output: Int32
  private let wakeRead: Int32
  private let wakeWrite: Int32
  private let lock = Lock()
  private var before = termios()
  private var isRaw = false
  private var isOver = false
  private var shown: Screen?
  private var sources: [any DispatchSourceSignal] = []

  /// The meanings of the bytes in the pipe that wakes ``next(timeout:)``.
  private enum Wake: UInt8 { case work, resized, stop }

  private static let enterSequence = "\u{1B}[?1049h\u{1B}[?7l\u{1B}[2J"
  private static let leaveSequence = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  /// Returns why `input` and `output` cannot be used for a full screen; nil when they can.
  package static func refusal(input: Int32 = 0, output: Int32 = 1) -> Refusal? {
    guard System.isTerminal(input), System.isTerminal(output) else { return .notATerminal }
    let term = System.environment("TERM") ?? ""
    return term.isEmpty || term == "dumb" ? .cannotMoveCursor : nil
  }

  /// Puts the terminal into raw mode and shows the alternate screen.
  ///
  /// Ctrl-C and Ctrl-Z still send signals. Ctrl-C ends the process; the handler of its signal must call ``restore()``.
  /// Ctrl-Z is reported as ``Event/stop``.
  /// - Throws: ``Refusal``.
  package init(input: Int32 = 0, output: Int32 = 1) throws(Refusal) {
    if let refusal = Self.refusal(input: input, output: output) { throw refusal }
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw .failed(System.message(errno)) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    self.input = input
    self.output = output
    (wakeRead, wakeWrite) = (ends[0], ends[1])
    guard unsafe tcgetattr(input, &before) == 0 else { throw .failed(System.message(errno)) }
    let queue = DispatchQueue(label: "lifeboat.terminal", qos: .userInteractive)
    for (number, wake) in [(SIGWINCH, Wake.resized), (SIGCONT, .resized), (SIGTSTP, .stop)] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      let end = wakeWrite
      source.setEventHandler { Self.write(wake, to: end) }
      source.resume()
      sources.append(source)
    }
    enter()
  }

  deinit {
    restore()
    for source in sources { source.cancel() }
    for number in [SIGWINCH, SIGCONT, SIGTSTP] { signal(number, SIG_DFL) }
    close(wakeRead)
    close(wakeWrite)
  }

  // MARK: - Modes

  /// Sets raw mode: no echo, no line editing, no flow control. Ctrl-C and Ctrl-Z still send signals. The quit key
  /// (Ctrl-\) and, on Darwin, the delayed suspend key (Ctrl-Y) send no signal.
  private func enter() {
    lock.locked {
      guard !isOver else { return }
      var raw = before
      raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | ISTRIP | IXON)
      raw.c_oflag &= ~tcflag_t(OPOST)
      raw.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | IEXTEN)
      raw.c_lflag |= tcflag_t(ISIG)
      unsafe withUnsafeMutableBytes(of: &raw.c_cc) { bytes in
        // _POSIX_VDISABLE
        #if canImport(Darwin)
          unsafe bytes[Int(VQUIT)] = 0xFF
          unsafe bytes[Int(VDSUSP)] = 0xFF
        #else
          unsafe bytes[Int(VQUIT)] = 0
        #endif
        unsafe bytes[Int(VMIN)] = 1
        unsafe bytes[Int(VTIME)] = 0
      }
      _ = unsafe tcsetattr(input, TCSADRAIN, &raw)
      shown = nil
      isRaw = true
      StandardStream.write(Self.enterSequence, to: output)
    }
  }

  private func leave() {
    lock.locked {
      guard isRaw else { return }
      isRaw = false
      StandardStream.write(Self.leaveSequence, to: output)
      _ = unsafe tcsetattr(input, TCSADRAIN, &before)
    }
  }

  /// Leaves the alternate screen and raw mode for good. The terminal is then as it was before.
  package func restore() {
    lock.locked { isOver = true }
    leave()
  }

  /// Restores the terminal and stops the process, as Ctrl-Z does in other programs. Returns when the shell continues
  /// the process; raw mode is then set again.
  package func stop() {
    leave()
    kill(getpid(), SIGSTOP)
    enter()
  }

  // MARK: - Size and drawing

  /// The lines and columns of the window; 24 and 80 when the terminal does not report them.
  package var size: (rows: Int, columns: Int) {
    guard let size = System.windowSize(output), size.rows > 0, size.columns > 0 else {
      return (24, 80)
    }
    return size
  }

  /// Shows a screen. Sends only the lines in which the screen differs from the screen that was shown before. Returns
  /// false when the terminal accepts no more output.
  package func show(_ screen: Screen, isColored: Bool) -> Bool {
    lock.locked {
      guard isRaw else { return true }
      let text = screen.update(from: shown, isColored: isColored)
      shown = screen
      return StandardStream.write(text, to: output)
    }
  }

  // MARK: - Events

  /// Makes ``next(timeout:)`` return ``Event/woken``. May be called from any thread.
  package func wake() { Self.write(.work, to: wakeWrite) }

  private static func write(_ wake: Wake, to end: Int32) {
    var byte = wake.rawValue
    // If the pipe is full, the write fails, but the bytes in the pipe wake the loop anyway.
    _ = unsafe CLibrary.write(end, &byte, 1)
  }

  /// Waits for an event.
  ///
  /// - Parameter timeout: the number of milliseconds to wait; nil to wait without limit. With a timeout, only typed
  ///   keys and the end of the terminal end the wait early. Any other event waits for a later call without a timeout.
  /// - Returns: the event.
  package func next(timeout: Int? = nil) -> Event {
    let wait = timeout.map { Int32(clamping: $0) } ?? -1
    while true {
      var entries = [
        // poll(2) ignores an entry with a negative descriptor.
        pollfd(fd: timeout == nil ? wakeRead : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: input, events: Int16(POLLIN), revents: 0),
      ]
      let count = unsafe poll(&entries, 2, wait)
      if count == 0 { return .timeout }
      if count < 0 {
        if errno == EINTR { continue }
        return .closed
      }
      if entries[0].revents != 0, let event = wakeEvent() { return event }
      guard entries[1].revents != 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: 1024)
      let read = unsafe CLibrary.read(input, &bytes, bytes.count)
      if read > 0 { return .bytes(Array(bytes[..<read])) }
      if read < 0, errno == EINTR || errno == EAGAIN { continue }
      return .closed
    }
  }

  private func wakeEvent() -> Event? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe CLibrary.read(wakeRead, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let wakes = bytes[..<count]
    if wakes.contains(Wake.stop.rawValue) { return .stop }
    if wakes.contains(Wake.resized.rawValue) {
      // If the process was stopped by SIGSTOP, the shell has set its own modes, so raw mode is set again.
      enter()
      return .resized
    }
    return .woken
  }
}
