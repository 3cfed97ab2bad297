public import Foundation

/// How far a migration has come.
public struct MigrationProgress: Sendable, Hashable {
  /// The number of the current step, counted from 1; a merge is the last step.
  public let step: Int
  /// How many steps the migration has, with the merge.
  public let stepCount: Int
  /// The name of the entity whose rows are being copied; nil while no rows are.
  public let entityName: String?
  /// How many rows the current step has read.
  public let rowCount: Int
  /// How many rows the current step has to read; nil while that is not known.
  public let totalRowCount: Int?
  /// The part of the whole migration that is done, from 0 to 1. It never decreases.
  public let fractionCompleted: Double
}

extension Migration {
  /// A copy of the migration that reports to a Foundation `Progress` and ends when that is cancelled. The progress
  /// counts thousandths of the migration.
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

  /// Runs a migration on a thread of its own. Cancelling the returned task ends the migration, and what it has written
  /// is removed.
  ///
  /// - Parameter body: calls one of the `run` methods of the migration that it is given.
  /// - Returns: the progress, and the task that returns the report. A slow reader of the progress gets only its newest
  ///   value.
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
  /// How many rows the current step has to read; nil while that is not known.
  var totalRowCount: Int?
  /// The estimated share of a step's time that reading the rows takes. Indexes and checks take the rest.
  private static let rowShare = 0.8
  private static let interval = 1_024

  init(_ migration: Migration, stepCount: Int) {
    report = migration.onProgress
    isCancelled = migration.isCancelled
    self.stepCount = max(1, stepCount)
  }

  /// Whether progress is reported, so that counting the rows beforehand is worth it.
  var isWatched: Bool { report != nil }

  /// Begins the next step. Throws when the migration is cancelled.
  func beginStep() throws {
    step += 1
    rowCount = 0
    totalRowCount = nil
    try tell(nil, 0)
  }

  /// Counts rows of an entity that were read. Throws when the migration is cancelled.
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

  /// Reports that all rows of the step were read. Throws when the migration is cancelled.
  func endRows() throws { try tell(nil, Self.rowShare) }

  /// Reports that the step is finished and checked. Throws when the migration is cancelled.
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
