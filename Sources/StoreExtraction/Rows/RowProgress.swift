import SQLiteFile

/// Counts the rows of an export and reports the count regularly.
package final class RowProgress {
  /// The total number of rows; nil if the rows were not counted beforehand.
  private let total: Int?
  private let report: (_ done: Int, _ total: Int?) -> Void
  private var done = 0
  private var told = 0

  /// The number of rows after which the row count is reported again.
  fileprivate static let step = 1024

  init(of total: Int?, _ report: @escaping (_ done: Int, _ total: Int?) -> Void) {
    self.total = total
    self.report = report
  }

  /// Returns a receiver that counts rows and passes them on to `receiver`.
  func watching(_ receiver: any RecordReceiver) -> any RecordReceiver {
    WatchedRows(receiver, self)
  }

  fileprivate func add(_ count: Int) {
    done += count
    guard done - told >= Self.step else { return }
    told = done
    report(done, total)
  }
}

/// Counts rows on their way to a receiver.
private final class WatchedRows: RecordReceiver {
  private let receiver: any RecordReceiver
  /// The progress to which rows are added. Nil in a receiver that ``another()`` has made. The rows of such a receiver
  /// are added when the original receiver takes over its output.
  private let progress: RowProgress?
  private var count = 0

  init(_ receiver: any RecordReceiver, _ progress: RowProgress?) {
    self.receiver = receiver
    self.progress = progress
  }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    count &+= 1
    if count >= RowProgress.step, let progress {
      progress.add(count)
      count = 0
    }
    return receiver.take(record, rowID: rowID, layout, &decoder)
  }

  var wantsMore: Bool { receiver.wantsMore }
  var isBroken: Bool { receiver.isBroken }
  var takesBlocks: Bool { receiver.takesBlocks }
  var blockBytes: Int { receiver.blockBytes }

  func another() -> any RecordReceiver { WatchedRows(receiver.another(), nil) }

  func take(from other: any RecordReceiver) {
    guard let other = other as? WatchedRows else { return }
    receiver.take(from: other.receiver)
    progress?.add(other.count)
    other.count = 0
  }
}
