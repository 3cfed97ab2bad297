public import Foundation

/// How far a migration is.
public struct MigrationProgress: Sendable, Hashable {
  /// The step, counted from 1; a merge is the last one.
  public let step: Int
  /// How many steps there are.
  public let stepCount: Int
  /// The entity whose rows are carried; nil while none are.
  public let entityName: String?
  /// Rows of the step that were read.
  public let rowCount: Int
  /// The rows that the step has to read; nil while it is not known.
  public let totalRowCount: Int?
  /// How much is done, from 0 to 1; it never goes back.
  public let fractionCompleted: Double
}

extension Migration {
  /// A migration that reports to a Foundation `Progress`, which may also cancel it. The progress counts thousandths.
  public func reporting(to progress: Progress) -> Migration {
    progress.totalUnitCount = 1_000
    progress.isCancellable = true
    var migration = self
    let (further, isCancelled) = (onProgress, isCancelled)
    let box = ProgressBox(progress)
    migration.onProgress = { state in
      box.progress.completedUnitCount = Int64(state.fractionCompleted * 1_000)
      further?(state)
    }
    migration.isCancelled = { box.progress.isCancelled || isCancelled() }
    return migration
  }

  /// Runs a migration on a thread of its own. Cancelling the task ends the migration, and nothing of it is left.
  ///
  /// - Parameter body: runs the migration that it is given.
  /// - Returns: the states on the way (who reads them late gets only the newest one), and the task with the report.
  public func inBackground(
    _ body: @escaping @Sendable (Migration) throws -> MigrationReport
  ) -> (updates: AsyncStream<MigrationProgress>, report: Task<MigrationReport, any Error>) {
    let (updates, continuation) = AsyncStream.makeStream(
      of: MigrationProgress.self, bufferingPolicy: .bufferingNewest(1))
    let request = CancelRequest()
    var made = self
    let (further, isCancelled) = (onProgress, isCancelled)
    made.onProgress = { state in
      continuation.yield(state)
      further?(state)
    }
    made.isCancelled = { request.isMade || isCancelled() }
    let migration = made
    let report = Task.detached {
      defer { continuation.finish() }
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { done in
          // A task would hold one of the few threads that all tasks share.
          Thread.detachNewThread { done.resume(with: Result { try body(migration) }) }
        }
      } onCancel: {
        request.make()
      }
    }
    return (updates, report)
  }
}

/// `Progress` is safe to use from several threads, which its declaration on Linux does not say.
private final class ProgressBox: @unchecked Sendable {
  let progress: Progress
  init(_ progress: Progress) { self.progress = progress }
}

private final class CancelRequest: @unchecked Sendable {
  private let lock = NSLock()
  private var wasMade = false
  var isMade: Bool { lock.withLock { wasMade } }
  func make() { lock.withLock { wasMade = true } }
}

/// Counts the rows of a run, reports them and notices a cancellation.
final class ProgressWatch {
  private let report: ((MigrationProgress) -> Void)?
  private let isCancelled: () -> Bool
  private let stepCount: Int
  private var step = 0
  private var rowCount = 0
  private var fraction = 0.0
  /// The rows that the step has to read; nil while it is not known.
  var totalRowCount: Int?
  /// Reading the rows is about so much of a step; the rest is indexes and checks.
  private static let rowShare = 0.8
  private static let interval = 1_024

  init(_ migration: Migration, stepCount: Int) {
    report = migration.onProgress
    isCancelled = migration.isCancelled
    self.stepCount = max(1, stepCount)
  }

  /// Whether somebody is told, so that counting beforehand is worth it.
  var isWatched: Bool { report != nil }

  /// Begins the next step.
  func beginStep() throws {
    step += 1
    rowCount = 0
    totalRowCount = nil
    try tell(nil, 0)
  }

  /// Rows were read.
  @inline(__always)
  func count(_ rows: Int = 1, of entityName: String?) throws {
    let before = rowCount / Self.interval
    rowCount += rows
    if rowCount / Self.interval != before { try tellRows(entityName) }
  }

  private func tellRows(_ entityName: String?) throws {
    let part = totalRowCount.map { $0 > 0 ? min(1, Double(rowCount) / Double($0)) : 1 } ?? 0
    try tell(entityName, part * Self.rowShare)
  }

  /// All rows were read.
  func endRows() throws { try tell(nil, Self.rowShare) }

  /// The step is finished and checked.
  func endStep() throws { try tell(nil, 1) }

  private func tell(_ entityName: String?, _ part: Double) throws {
    guard !isCancelled() else {
      throw MigrationError(.cancelled, ["the migration was cancelled; nothing of it is left"])
    }
    guard let report else { return }
    fraction = max(fraction, (Double(step - 1) + part) / Double(stepCount))
    report(
      MigrationProgress(
        step: step, stepCount: stepCount, entityName: entityName, rowCount: rowCount,
        totalRowCount: totalRowCount, fractionCompleted: min(1, fraction)))
  }
}
