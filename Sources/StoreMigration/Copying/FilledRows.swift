import CoreDataStore
import Dispatch
import Foundation
import SQLiteFile
import SQLiteForensics

/// Passes the rows of an old table to the new one that is filled. Their new records are made on two threads, while a third
/// one writes those before; rows whose values have to be looked at are inserted one by one.
final class FilledRows: RecordReceiver {
  /// Rows that were read, in their order.
  struct Batch {
    struct Row {
      let rowID: Int64
      /// The number of the row's entity; nil when the new record could not be made.
      let entityNumber: Int64?
      /// Where the records are in the bytes of the batch; both in the same place when they are the same.
      let old: Range<Int>
      let new: Range<Int>
    }

    private(set) var rows: ContiguousArray<Row> = []
    private(set) var bytes = ContiguousArray<UInt8>()
    /// The entity of the last row, which is mostly that of the next one, too.
    private var last: (number: Int64, copy: RecordCopy)?

    fileprivate mutating func append(
      _ record: RawSpan, _ rowID: Int64, entityNumber: Int64?, _ copies: [Int64: RecordCopy],
      _ fields: borrowing RecordCopy.Fields
    ) {
      let old = bytes.count..<bytes.count + record.byteCount
      unsafe record.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      var (number, new) = (entityNumber, old)
      if let entityNumber {
        if last?.number != entityNumber {
          last = copies[entityNumber].map { (entityNumber, $0) }
        }
        switch last?.copy.append(record, fields, to: &bytes) {
        case .same?: break
        case .made?: new = old.upperBound..<bytes.count
        case .undecided?, nil: number = nil
        }
      }
      rows.append(Row(rowID: rowID, entityNumber: number, old: old, new: new))
    }

    fileprivate mutating func removeAll() {
      rows.removeAll(keepingCapacity: true)
      bytes.removeAll(keepingCapacity: bytes.count <= FilledRows.maxBlockBytes)
    }
  }

  /// Takes the rows of a batch.
  typealias Receive = (borrowing Batch) throws -> Void

  private let copies: [Int64: RecordCopy]
  private let entityColumn: Int?
  /// Nil for a receiver of blocks.
  private let writing: WaitingBatches?
  private var batch = Batch()
  private(set) var isBroken = false

  let takesBlocks = true
  /// Bytes of rows that are received together, and that a block may have.
  private static let batchBytes = 64 << 10
  fileprivate static let maxBlockBytes = 6 << 20

  /// Creates a receiver.
  ///
  /// - Parameters:
  ///   - copies: how the records of an entity are made, by its number.
  ///   - entityColumn: the column with that number; nil when there is none.
  ///   - receive: takes the rows, in their order, on another thread.
  convenience init(
    _ copies: [Int64: RecordCopy], entityColumn: Int?, _ receive: @escaping Receive
  ) {
    self.init(copies, entityColumn, WaitingBatches(receive))
  }

  private init(_ copies: [Int64: RecordCopy], _ entityColumn: Int?, _ writing: WaitingBatches?) {
    self.copies = copies
    self.entityColumn = entityColumn
    self.writing = writing
  }

  var wantsMore: Bool { !isBroken && !(writing?.hasFailed ?? false) }

  func another() -> any RecordReceiver { FilledRows(copies, entityColumn, nil) }

  func take(
    _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
    _ decoder: inout RecordDecoder
  ) -> RecordDecoder.Defect? {
    if let defect = decoder.open(record) { return defect }
    let number = entityColumn.flatMap {
      decoder.integer($0, of: record, rowID: rowID, layout: layout)
    }
    batch.append(record, rowID ?? 0, entityNumber: number, copies, decoder.fields)
    let count = batch.bytes.count
    if writing == nil {
      isBroken = count > Self.maxBlockBytes
    } else if count > Self.batchBytes {
      passOn()
    }
    return nil
  }

  func take(from other: any RecordReceiver) {
    guard let other = other as? FilledRows else { return }
    passOn()
    swap(&batch, &other.batch)
    passOn()
  }

  /// Waits until all rows are taken.
  /// - Throws: what taking them has thrown.
  func finish() throws {
    passOn()
    try writing?.finish()
  }

  private func passOn() {
    if let writing, !batch.rows.isEmpty { writing.exchange(&batch) }
  }
}

/// Batches that another thread takes, in their order. Few wait at a time.
private final class WaitingBatches: @unchecked Sendable {
  // Unchecked because `receive` runs on one thread at a time, and the rest is only touched with the lock held.
  private let receive: FilledRows.Receive
  private let queue = DispatchQueue(label: "rows")
  private let room = DispatchSemaphore(value: 2)
  private let lock = NSLock()
  private var failure: (any Error)?
  private var empty: [Box] = []

  /// Carries a batch from thread to thread without copying it.
  private final class Box: @unchecked Sendable { var batch = FilledRows.Batch() }

  init(_ receive: @escaping FilledRows.Receive) { self.receive = receive }

  var hasFailed: Bool { lock.withLock { failure != nil } }

  /// Puts a batch into the queue, and an empty one in its place.
  func exchange(_ batch: inout FilledRows.Batch) {
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
