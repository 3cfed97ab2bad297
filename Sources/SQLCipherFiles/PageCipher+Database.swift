import Dispatch
import Foundation
package import SQLiteFile

extension PageCipher {
  /// The number of bytes that are decrypted at a time: 1 MiB, a multiple of every page size.
  private static let blockLength = 1 << 20

  /// Decrypts a whole database file and passes its pages to `write` one by one, in order. An incomplete page at the end
  /// is left out.
  ///
  /// - Returns: a finding for each page that does not match its authentication code, and one for an incomplete last
  ///   page.
  /// - Throws: what `write` throws; `SQLiteFileError` when the file cannot be read.
  package func decrypt(
    database file: ByteFile, _ write: ([UInt8]) throws -> Void
  ) throws -> FindingList {
    var findings = FindingList()
    let size = Int64(format.pageSize)
    let end = min(file.size / size, Int64(UInt32.max)) * size
    var offset: Int64 = 0
    while offset < end {
      let block = try file.bytes(
        at: offset, count: Int(min(Int64(Self.blockLength), end - offset)))
      guard !block.isEmpty, block.count % format.pageSize == 0 else {
        throw SQLiteFileError(.io, "the file has become shorter while it was read", path: file.path)
      }
      let first = UInt32(offset / size) + 1
      for (index, page) in decrypted(block, first).enumerated() {
        if !page.isAuthentic {
          let number = first + UInt32(index)
          findings.add(Self.badPage(number, .main, at: Int64(number - 1) * size))
        }
        try write(page.bytes)
      }
      offset += Int64(block.count)
    }
    if end < file.size {
      findings.add(
        Finding(
          .pageCut,
          "the file ends in the middle of a page; its last \(file.size - end) bytes cannot be decrypted",
          page: UInt32(truncatingIfNeeded: end / size + 1), offset: end))
    }
    return findings
  }

  static func badPage(_ page: UInt32, _ member: Finding.Member, at offset: Int64) -> Finding {
    Finding(
      .pageNotAuthentic,
      "the page does not match its authentication code: bytes of the page changed after they were written, so what is read from the page is in doubt",
      member: member, page: page, offset: offset)
  }

  /// Decrypts the pages of a block on several threads. `first` is the number of the first page.
  private func decrypted(_ block: [UInt8], _ first: UInt32) -> [Page] {
    let count = block.count / format.pageSize
    let partCount = min(8, count)
    let parts = DecryptedParts()
    DispatchQueue.concurrentPerform(iterations: partCount) { part in
      let range = (part * count / partCount)..<((part + 1) * count / partCount)
      let pages = range.map { index in
        let start = index * format.pageSize
        return decrypted(
          block[start..<(start + format.pageSize)], number: first + UInt32(index))
      }
      parts.put(pages, at: part)
    }
    return parts.all
  }
}

private final class DecryptedParts: @unchecked Sendable {
  /// Guards `parts`.
  private let lock = NSLock()
  private var parts: [Int: [PageCipher.Page]] = [:]

  func put(_ pages: [PageCipher.Page], at part: Int) { lock.withLock { parts[part] = pages } }

  /// The pages in the order of the file.
  var all: [PageCipher.Page] {
    lock.withLock { parts.sorted { $0.key < $1.key }.flatMap(\.value) }
  }
}
