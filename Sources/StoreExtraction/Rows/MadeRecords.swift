import Dispatch
import Foundation
package import SQLiteFile

/// Makes the records of new rows from the records of an existing table. Each thread that reads the table uses its own
/// maker.
package protocol RecordMaker: AnyObject {
  /// Whether rows may be passed in blocks to several makers on different threads.
  var takesBlocks: Bool { get }
  var wantsMore: Bool { get }

  /// Makes the new records of a row, and adds them to `batch`.
  ///
  /// `record`: the old record, which `decoder` has opened already.
  /// `rowID`: the row id; nil in a table without row ids.
  func make(
    _ record: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder, into batch: inout MadeRecords.Batch)

  /// Returns another maker that makes the same records, for use on another thread.
  func another() -> any RecordMaker

  /// Takes over what `other`, the maker of another thread, has collected. Called for each block of rows, in the order
  /// of the rows.
  func take(from other: any RecordMaker)
}

extension RecordMaker {
  package var wantsMore: Bool { true }
  package func take(from other: any RecordMaker) {}
}

/// Reads the rows of a table and makes new records from them on two threads. At the same time, a third thread writes
/// records that were made before.
package final class MadeRecords: RecordReceiver {
  /// New records, in the order of the rows that they were made from.
  package struct Batch {
    package struct Row {
      /// The row id of the new row; nil to use the next unused row id.
      package let rowID: Int64?
      /// The destination of the new row, as a number that the maker chooses, such as the number of a table. Nil if no
      /// record could be made.
      package let target: Int64?
      /// The range of the old record in the bytes of the batch. If the old record was not kept, this is the range of
      /// the new record.
      package let old: Range<Int>
      /// The range of the new record in the bytes of the batch.
      package let new: Range<Int>

      package init(rowID: Int64?, target: Int64?, old: Range<Int>, new: Range<Int>) {
        self.rowID = rowID
        self.target = target
        self.old = old
        self.new = new
      }
    }

    package var rows: ContiguousArray<Row> = []
    package var bytes = ContiguousArray<UInt8>()

    fileprivate mutating func removeAll() {
      rows.removeAll(keepingCapacity: true)
      bytes.removeAll(keepingCapacity: bytes.count <= MadeRecords.maxBlockBytes)
    }
  }

  package typealias Receive = (borrowing Batch) throws -> Void

  private let maker: any RecordMaker
  /// The queue to which full batches are passed. Nil in a receiver that ``another()`` has made; the batch of such a
  /// receiver is taken over by the first receiver.
  private let writing: WaitingBatches?
  private var batch = Batch()
  package private(set) var isBroken = false

  /// The size in bytes above which a batch is passed on.
  private static let batchBytes = 64 << 10
  /// The maximum total size, in bytes, of the new records that are made from one block of rows.
  fileprivate static let maxBlockBytes = 6 << 20

  private init(_ maker: any RecordMaker, _ writing: WaitingBatches?) {
    self.maker = maker
    self.writing = writing
  }

  /// Reads a table and makes new records from its rows. `receive` is called on another thread, in the order of the
  /// rows. Throws an error of reading the table, or the error that `receive` has thrown.
  package static func read(
    _ table: Table, of database: SQLiteDatabase, with maker: any RecordMaker,
    _ progress: RowProgress? = nil, _ receive: @escaping Receive
  ) throws {
    let writing = WaitingBatches(receive)
    let records = MadeRecords(maker, writing)
    let receiver = progress?.watching(records) ?? records
    let result = Result { try database.read(table, by: receiver) }
    records.passOn()
    try writing.finish()
    try result.get()
  }

  // MARK: - Receiving

  package var takesBlocks: Bool { maker.takesBlocks }
  package var wantsMore: Bool {
    !isBroken && maker.wantsMore && !(writing?.hasFailed ?? false)
  }
  package func another() -> any RecordReceiver { MadeRecords(maker.another(), nil) }

  package func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = decoder.open(record) { return defect }
    maker.make(record, rowID, layout, &decoder, into: &batch)
    let count = batch.bytes.count
    if writing == nil {
      isBroken = count > Self.maxBlockBytes
    } else if count > Self.batchBytes {
      passOn()
    }
    return nil
  }

  package func take(from other: any RecordReceiver) {
    guard let other = other as? MadeRecords else { return }
    passOn()
    swap(&batch, &other.batch)
    maker.take(from: other.maker)
    passOn()
  }

  private func passOn() {
    if let writing, !batch.rows.isEmpty { writing.exchange(&batch) }
  }
}

/// A queue of at most two batches. Another thread takes the batches in the order in which they were added.
private final class WaitingBatches: @unchecked Sendable {
  // `@unchecked` because `receive` runs on one thread at a time, and all other state is accessed only while the lock is
  // held.
  private let receive: MadeRecords.Receive
  private let queue = DispatchQueue(label: "rows")
  private let room = DispatchSemaphore(value: 2)
  private let lock = NSLock()
  private var failure: (any Error)?
  private var empty: [Box] = []

  /// Carries a batch from one thread to another without copying the batch.
  private final class Box: @unchecked Sendable { var batch = MadeRecords.Batch() }

  init(_ receive: @escaping MadeRecords.Receive) { self.receive = receive }

  var hasFailed: Bool { lock.withLock { failure != nil } }

  /// Adds `batch` to the queue and replaces it with an empty batch. If two batches are in the queue, waits first.
  func exchange(_ batch: inout MadeRecords.Batch) {
    room.wait()
    let box = lock.withLock { empty.popLast() } ?? Box()
    swap(&box.batch, &batch)
    queue.async { [self] in
      if !hasFailed {
        do { try receive(box.batch) } catch { lock.withLock { failure = error } }
      }
      box.batch.removeAll()
      lock.withLock { empty.append(box) }
      room.signal()
    }
  }

  func finish() throws {
    queue.sync {}
    if let failure = lock.withLock({ failure }) { throw failure }
  }
}
