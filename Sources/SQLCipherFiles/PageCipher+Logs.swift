package import SQLiteFile

/// Decrypts write-ahead logs and rollback journals. Their pages are encrypted in the same way as those of the database.
/// File headers, frame headers, and the page numbers and checksums of journal records are not encrypted. Page 1 begins
/// with the salt, as in the database.
extension PageCipher {
  /// Decrypts a write-ahead log (file format, section 4). A frame whose stored checksum is right gets a new checksum
  /// that is right for the decrypted page. A wrong checksum is kept, and is wrong after decryption too.
  ///
  /// - Returns: a finding for each page that does not match its authentication code although the checksum of its frame
  ///   is right.
  /// - Throws: what `write` throws; `SQLiteFileError` when the file cannot be read.
  package func decrypt(
    log file: ByteFile, _ write: ([UInt8]) throws -> Void
  ) throws -> FindingList {
    var findings = FindingList()
    let head = ContiguousArray(try file.bytes(at: 0, count: WriteAheadLog.headerLength))
    try write(Array(head))
    guard head.count == WriteAheadLog.headerLength else { return findings }
    let isBigEndian = head.rawSpan.uint32(at: 0) & 1 == 1
    // The running checksums that the next frame continues: `stored` in the encrypted log, `written` in the decrypted
    // log.
    var stored = LogChecksum(
      isBigEndian: isBigEndian, first: head.rawSpan.uint32(at: 24),
      second: head.rawSpan.uint32(at: 28))
    var written = stored
    let length = WriteAheadLog.frameHeaderLength + format.pageSize
    var offset = Int64(head.count)
    while file.size - offset >= Int64(length) {
      let frame = ContiguousArray(try file.bytes(at: offset, count: length))
      guard frame.count == length else { break }
      let number = frame.rawSpan.uint32(at: 0)
      let page = decrypted(
        Array(frame)[WriteAheadLog.frameHeaderLength...], number: number)
      var frameSum = stored
      frameSum.add(frame.rawSpan.part(0, 8))
      frameSum.add(frame.rawSpan.part(WriteAheadLog.frameHeaderLength, format.pageSize))
      stored.first = frame.rawSpan.uint32(at: 16)
      stored.second = frame.rawSpan.uint32(at: 20)
      if frameSum == stored {
        let clear = ContiguousArray(page.bytes)
        written.add(frame.rawSpan.part(0, 8))
        written.add(clear.rawSpan)
        if !page.isAuthentic {
          findings.add(Self.badPage(number, .wal, at: offset))
        }
      } else {
        written = stored
      }
      try write(
        Array(frame.prefix(16)) + Self.bytes(of: written.first) + Self.bytes(of: written.second)
          + page.bytes)
      offset += Int64(length)
    }
    return findings
  }

  /// Decrypts a rollback journal (file format, section 3). Every part of the journal stays at its offset. The checksum
  /// of each record is adapted to the decrypted page, so that a right checksum stays right.
  ///
  /// - Returns: a finding for each page that does not match its authentication code.
  /// - Throws: what `write` throws; `SQLiteFileError` when the file cannot be read.
  package func decrypt(
    journal file: ByteFile, _ write: ([UInt8]) throws -> Void
  ) throws -> FindingList {
    var findings = FindingList()
    var offset: Int64 = 0
    var sectorSize = 512
    let end = try Self.endOfRecords(of: file)
    while offset < end {
      // A journal whose transaction has ended may have a first header of zeroes before its records.
      let head = ContiguousArray(try file.bytes(at: offset, count: 28))
      let isHeader = head.count == 28 && head.starts(with: RollbackJournal.magic)
      guard isHeader || offset == 0 && !head.isEmpty else { break }
      if isHeader {
        let size = Int(head.rawSpan.uint32(at: 20))
        if RollbackJournal.isSectorSize(Int64(size)) { sectorSize = size }
      }
      let sector = try file.bytes(at: offset, count: sectorSize)
      try write(sector)
      offset += Int64(sector.count)
      let count = isHeader ? head.rawSpan.uint32(at: 8) : .max
      try decrypt(
        records: count, of: file, at: &offset, end: end, sectorSize: Int64(sectorSize), &findings,
        write)
      let gap = try file.bytes(
        at: offset, count: Int(Self.sectorStart(after: offset, Int64(sectorSize)) - offset))
      try write(gap)
      offset += Int64(gap.count)
    }
    // What is left is the name of a super-journal, or less than a record.
    if offset < file.size {
      try write(try file.bytes(at: offset, count: Int(min(file.size - offset, 1 << 20))))
    }
    return findings
  }

  /// Decrypts journal records from `offset` on, up to the next segment header or to `end`. Sets `offset` to the end of
  /// the last record.
  ///
  /// `count` is the number of records according to the segment header; `UInt32.max` stands for all. SQLite reads only
  /// `count` records. Records after them are decrypted too, because they contain older versions of pages. If such a
  /// record does not match an authentication code, it may not be a record, and is copied unchanged.
  private func decrypt(
    records count: UInt32, of file: ByteFile, at offset: inout Int64, end: Int64, sectorSize: Int64,
    _ findings: inout FindingList, _ write: ([UInt8]) throws -> Void
  ) throws {
    let length = format.pageSize + 8
    var left = count
    while end - offset >= Int64(length) {
      if count == .max || left == 0 {
        let next = Self.sectorStart(after: offset, sectorSize)
        if try file.bytes(at: next, count: 8) == RollbackJournal.magic { return }
      }
      let record = ContiguousArray(try file.bytes(at: offset, count: length))
      guard record.count == length else { return }
      let number = record.rawSpan.uint32(at: 0)
      let page = decrypted(Array(record)[4..<(length - 4)], number: number)
      if !page.isAuthentic, left > 0 {
        findings.add(Self.badPage(number, .journal, at: offset))
      }
      if page.isAuthentic || left > 0 {
        let sum =
          record.rawSpan.uint32(at: length - 4) &- counted(record, 4)
          &+ counted(ContiguousArray(page.bytes), 0)
        try write(Array(record.prefix(4)) + page.bytes + Self.bytes(of: sum))
      } else {
        try write(Array(record))
      }
      offset += Int64(length)
      if left > 0 { left -= 1 }
    }
  }

  /// Returns the offset of the first sector that begins at or after `offset`. Journal headers are at the start of
  /// sectors.
  private static func sectorStart(after offset: Int64, _ sectorSize: Int64) -> Int64 {
    (offset + sectorSize - 1) / sectorSize * sectorSize
  }

  /// Returns the offset at which the records of a journal end. This is the end of the file, unless the journal ends
  /// with the name of a super-journal. In that case, it is the start of the last part of the journal, which is not
  /// encrypted: a page number, the name, the name's length and checksum, and the magic number.
  private static func endOfRecords(of file: ByteFile) throws -> Int64 {
    let tail = ContiguousArray(try file.bytes(at: max(0, file.size - 16), count: 16))
    guard tail.count == 16, tail[8...].elementsEqual(RollbackJournal.magic) else {
      return file.size
    }
    let length = Int64(tail.rawSpan.uint32(at: 0))
    return length > 0 && length <= 4096 ? max(0, file.size - 20 - length) : file.size
  }

  /// Returns the sum of every 200th byte of a page, counted from the end of the page. SQLite computes the checksum of a
  /// journal record from this sum. The page begins at `start` in `bytes`.
  private func counted(_ bytes: ContiguousArray<UInt8>, _ start: Int) -> UInt32 {
    stride(from: format.pageSize - 200, to: 0, by: -200).reduce(0) {
      $0 &+ UInt32(bytes[start + $1])
    }
  }

  /// Returns the four bytes of a number, in big-endian order.
  private static func bytes(of value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}
