/// Shows the progress of some work on standard error.
///
/// Call `update` as often as you like: most calls print nothing. Nothing is printed for work of less than one
/// second, except as JSON. A stream that refuses progress does not stop the work. Safe to call from any task.
package final class ProgressMeter: @unchecked Sendable {
  // Unchecked because of `report` and `isSilent`, which are only touched with the lock held.
  private let lock = Lock()
  private var report: ProgressReport
  private var isSilent = false
  private let clock: @Sendable () -> UInt64
  private let print: @Sendable (String) -> Bool

  /// Starts to count.
  ///
  /// - Parameters:
  ///   - operation: what is being done, in one or two words: `Reading`.
  ///   - total: how much there is to do; nil when unknown.
  ///   - unit: what is counted.
  ///   - mode: what the user asked for.
  package convenience init(
    operation: String, total: UInt64?, unit: ProgressUnit = .bytes, mode: ProgressMode = .auto
  ) {
    let descriptor: Int32 = 2
    let canMoveCursor =
      System.isTerminal(descriptor) && (System.environment("TERM") ?? "dumb") != "dumb"
    self.init(
      operation: operation, total: total, unit: unit, mode: mode, canMoveCursor: canMoveCursor,
      columns: TerminalWidth.columns(of: descriptor), clock: System.monotonicNanoseconds
    ) { text in
      let stream = StandardStream(descriptor: descriptor, capacity: 0)
      return (try? stream.write(text)) != nil
    }
  }

  // `canMoveCursor`: the stream is a terminal that supports control sequences. `clock` returns nanoseconds since any
  // fixed moment. `print` writes text and returns false when further output is useless.
  init(
    operation: String, total: UInt64?, unit: ProgressUnit, mode: ProgressMode, canMoveCursor: Bool,
    columns: Int, clock: @escaping @Sendable () -> UInt64,
    print: @escaping @Sendable (String) -> Bool
  ) {
    let form: ProgressReport.Form =
      switch mode {
      case .auto: canMoveCursor ? .bar : .plain
      case .plain: .plain
      case .json: .json
      case .none: .none
      }
    report = ProgressReport(
      operation: operation, total: total, unit: unit, form: form, columns: columns, now: clock())
    self.clock = clock
    self.print = print
  }

  deinit {
    cancel()
  }

  /// Whether anything may be printed.
  package var isShown: Bool { lock.locked { report.form != .none } }

  /// Reports how much of the known total is done.
  package func update(_ current: UInt64) {
    change { $0.update(current: current, total: $0.total, now: $1) }
  }

  /// Reports how much is done, and a total that may have become known or changed.
  package func update(_ current: UInt64, of total: UInt64?) {
    change { $0.update(current: current, total: total, now: $1) }
  }

  /// The work is done. Removes the bar, or prints the last line or object.
  package func finish() {
    change { $0.finish(now: $1, isComplete: true) }
  }

  /// The work has failed or was stopped. Removes the bar and prints nothing. Also called when the object is released
  /// before ``finish()``.
  package func cancel() {
    change { $0.finish(now: $1, isComplete: false) }
  }

  private func change(_ body: (inout ProgressReport, UInt64) -> String?) {
    let now = clock()
    lock.locked {
      // Printing within the lock keeps lines of several tasks in order.
      if let text = body(&report, now), !isSilent, !print(text) { isSilent = true }
    }
  }
}
