/// Shows the progress of some work on standard error.
///
/// Call `update` as often as you like: most calls print nothing. If the work takes less than a second, the meter prints
/// nothing, except as JSON. If standard error accepts no bytes, the work goes on without progress. The meter may be
/// used from several tasks.
package final class ProgressMeter: @unchecked Sendable {
  // `@unchecked Sendable` because of `report` and `isSilent`, which are accessed only with the lock held.
  private let lock = Lock()
  private var report: ProgressReport
  private var isSilent = false
  private let clock: @Sendable () -> UInt64
  private let print: @Sendable (String) -> Bool

  /// Creates a meter for work that starts now. `operation` names the work in one or two words, such as `Reading`.
  /// `total` is the amount of work, counted in `unit`; nil when the amount is unknown.
  package convenience init(
    operation: String, total: UInt64?, unit: ProgressUnit = .bytes, mode: ProgressMode = .auto
  ) {
    let descriptor: Int32 = 2
    let canMoveCursor =
      System.isTerminal(descriptor) && (System.environment("TERM") ?? "dumb") != "dumb"
    self.init(
      operation: operation, total: total, unit: unit, mode: mode, canMoveCursor: canMoveCursor,
      columns: TerminalWidth.columns(of: descriptor), clock: System.monotonicNanoseconds
    ) { StandardStream.write($0, to: descriptor) }
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

  /// Whether the meter may print anything: false only with `--progress none`.
  package var isShown: Bool { lock.locked { report.form != .none } }

  /// Reports how many units of the work are done so far. The total stays as it was.
  package func update(_ current: UInt64) {
    change { $0.update(current: current, total: $0.total, now: $1) }
  }

  /// Reports how many units of the work are done so far. `total` is the total number of units, which may differ from
  /// the total that was given before; nil when the total is unknown. A negative number counts as 0.
  package func update(_ current: some BinaryInteger, of total: (some BinaryInteger)?) {
    let current = UInt64(clamping: current)
    let total = total.map { UInt64(clamping: $0) }
    change { $0.update(current: current, total: total, now: $1) }
  }

  /// Ends the meter after the work is done: removes the bar, or prints the last line or JSON object.
  package func finish() {
    change { $0.finish(now: $1, isComplete: true) }
  }

  /// Ends the meter after the work failed or was stopped: removes the bar, and prints nothing else. If the meter is
  /// released before ``finish()``, it ends in the same way.
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
