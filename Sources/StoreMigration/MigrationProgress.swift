public import Foundation
import StoreExtraction

/// The progress of a migration.
public struct MigrationProgress: Sendable, Hashable {
  /// The number of the current step, starting at 1. If there is a merge, it counts as the last step.
  public let step: Int
  /// The number of steps in the migration, including the merge.
  public let stepCount: Int
  /// The name of the entity whose rows are being copied; nil while no rows are being copied.
  public let entityName: String?
  /// The number of rows that the current step has read so far.
  public let rowCount: Int
  /// The total number of rows that the current step must read; nil while this number is unknown.
  public let totalRowCount: Int?
  /// The completed fraction of the whole migration, from 0 to 1. It never decreases.
  public let fractionCompleted: Double
}

extension Migration {
  /// Returns a copy of the migration that reports its progress to a Foundation `Progress`, and ends when this
  /// `Progress` is cancelled. The unit of the `Progress` is a thousandth of the migration.
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

  /// Runs a migration on its own thread. If the returned task is cancelled, the migration ends, and its files are
  /// removed.
  ///
  /// - Parameter body: a closure that gets this migration and calls one of its `run` methods.
  /// - Returns: in `updates`, the progress; in `report`, a task whose value is the report. A slow reader of `updates`
  ///   gets only the newest progress.
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
          // A separate thread is used, because the migration would block one of the few threads that all tasks share.
          Thread.detachNewThread { done.resume(with: Result { try body(migration) }) }
        }
      } onCancel: {
        request.make()
      }
    }
    return (updates, report)
  }
}

/// Makes a `Progress` sendable. A `Progress` may be used from several threads, but its declaration on Linux does not
/// say so.
private final class ProgressBox: @unchecked Sendable {
  let progress: Progress
  init(_ progress: Progress) { self.progress = progress }
}

/// Counts the rows that a migration reads, reports the progress, and ends the migration when it is cancelled.
final class ProgressWatch {
  private let report: ((MigrationProgress) -> Void)?
  private let isCancelled: () -> Bool
  private let stepCount: Int
  private var step = 0
  private var rowCount = 0
  private var fraction = 0.0
  /// The total number of rows that the current step must read; nil while this number is unknown.
  var totalRowCount: Int?
  /// The estimated share of a step's time that is spent on reading rows. The rest is spent on indexes and checks.
  private static let rowShare = 0.8
  private static let interval = 1_024

  init(_ migration: Migration, stepCount: Int) {
    report = migration.onProgress
    isCancelled = migration.isCancelled
    self.stepCount = max(1, stepCount)
  }

  /// Whether progress is reported. If false, the rows need not be counted beforehand.
  var isWatched: Bool { report != nil }

  /// Begins the next step. Throws when the migration is cancelled.
  func beginStep() throws {
    step += 1
    rowCount = 0
    totalRowCount = nil
    try tell(nil, 0)
  }

  /// Adds rows of an entity to the number of rows that the step has read. Throws when the migration is cancelled.
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

  /// Reports that the step has read all its rows. Throws when the migration is cancelled.
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
