import Dispatch
import Foundation
package import SQLiteFile

/// Makes the records of new rows from the records of a table. Each thread that reads the table has a maker of its own.
package protocol RecordMaker: AnyObject {
  /// Whether rows may be read in blocks, out of their order.
  var takesBlocks: Bool { get }
  /// Whether more rows are wanted.
  var wantsMore: Bool { get }

  /// Makes the new records of a row and adds them to a batch.
  ///
  /// - Parameters:
  ///   - record: the old record.
  ///   - rowID: the row id of the old record; nil in a table without row ids.
  ///   - layout: the layout of the old table.
  ///   - decoder: a decoder that has opened the record.
  ///   - batch: what the new records are added to.
  func make(
    _ record: RawSpan, _ rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder, into batch: inout MadeRecords.Batch)

  /// Returns a maker for another thread that makes the same records.
  func another() -> any RecordMaker

  /// Takes over what a maker of another thread has noted. Called in the order of the rows.
  func take(from other: any RecordMaker)
}

extension RecordMaker {
  package var wantsMore: Bool { true }
  package func take(from other: any RecordMaker) {}
}

/// Reads the rows of a table and makes new records of them on two threads, while a third thread writes the records made
/// before.
package final class MadeRecords: RecordReceiver {
  /// Records that were made, in the order of their rows.
  package struct Batch {
    package struct Row {
      /// The row id of the new row; nil for the next free one.
      package let rowID: Int64?
      /// The number by which the maker identifies the row's destination, such as a table; nil when no record could be
      /// made.
      package let target: Int64?
      /// The range of the old record in the bytes of the batch; equal to `new` when the old record was not kept.
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

  /// Takes a batch of records.
  package typealias Receive = (borrowing Batch) throws -> Void

  private let maker: any RecordMaker
  /// The queue of batches; nil for a receiver of blocks, whose batch another receiver takes over.
  private let writing: WaitingBatches?
  private var batch = Batch()
  package private(set) var isBroken = false

  /// When a batch has more bytes than this, it is passed on.
  private static let batchBytes = 64 << 10
  /// The most bytes of records that are made of one block.
  fileprivate static let maxBlockBytes = 6 << 20

  private init(_ maker: any RecordMaker, _ writing: WaitingBatches?) {
    self.maker = maker
    self.writing = writing
  }

  /// Reads a table and makes new records of its rows.
  ///
  /// - Parameters:
  ///   - table: the table.
  ///   - database: the database that has the table.
  ///   - maker: makes the new records.
  ///   - progress: counts the rows that were read.
  ///   - receive: takes the new records on another thread, in the order of their rows.
  /// - Throws: what reading them or `receive` has thrown.
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

/// A queue of batches that another thread takes in their order. At most two batches are in the queue.
private final class WaitingBatches: @unchecked Sendable {
  // Unchecked because `receive` runs on one thread at a time, and all other state is used only with the lock held.
  private let receive: MadeRecords.Receive
  private let queue = DispatchQueue(label: "rows")
  private let room = DispatchSemaphore(value: 2)
  private let lock = NSLock()
  private var failure: (any Error)?
  private var empty: [Box] = []

  /// Carries a batch from thread to thread without copying it.
  private final class Box: @unchecked Sendable { var batch = MadeRecords.Batch() }

  init(_ receive: @escaping MadeRecords.Receive) { self.receive = receive }

  var hasFailed: Bool { lock.withLock { failure != nil } }

  /// Puts a batch into the queue and an empty batch in its place. Waits when two batches are in the queue.
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
