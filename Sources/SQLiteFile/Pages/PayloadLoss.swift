/// Finds the bytes of one payload that seem to have been lost with a disk sector, and judges whether they are lost; see
/// ``ZeroSectors``.
package struct PayloadLoss {
  /// The payload offset of the first byte in a lost sector; nil if no byte seems to be lost.
  private var first: Int?
  /// Whether the zeros go on behind the record, where only a lost sector can have zeros.
  private var isProven = false
  /// Whether a whole overflow page is zeros, although the bytes before it are not.
  private var hasZeroPage = false

  package init() {}

  /// Examines the part of the payload on a b-tree page: the bytes in `range`.
  package init(_ range: Range<Int>, of page: RawSpan, usableSize: Int) {
    guard ZeroSectors.touch(range, of: page) else { return }
    let goesOn = ZeroSectors.goOn(behind: range.upperBound, of: page, usableSize: usableSize)
    let lost = ZeroSectors.firstLost(in: range, of: page, goesOn: goesOn)
    first = lost.map { $0 - range.lowerBound }
    isProven = first != nil && goesOn
  }

  /// Examines an overflow page with the next `count` bytes of the payload. `payload`: the bytes before them.
  package mutating func add(
    overflow page: RawSpan, _ count: Int, after payload: borrowing ContiguousArray<UInt8>
  ) {
    guard ZeroSectors.touch(4..<4 + count, of: page) else { return }
    let length = payload.count
    // The zeros of a value may continue on the next page.
    if page.byte(at: 4) == 0, length >= 8, payload[(length - 8)...].allSatisfy({ $0 == 0 }) {
      return
    }
    guard let lost = ZeroSectors.firstLost(in: 4..<4 + count, of: page) else { return }
    first = first ?? length + lost - 4
    if length > 0, payload[length - 1] != 0, ZeroSectors.fill(page) { hasZeroPage = true }
  }

  /// Returns whether bytes of the whole payload `record` are lost. `isUTF16`: whether the database stores text as UTF-16.
  package func judged(_ record: RawSpan, isUTF16: Bool) -> ZeroSectors.Loss {
    guard let first else { return .none }
    if isProven { return .certain }
    // A page of zeros may be the last page of a chain, with the last zeros of a value.
    if ZeroSectors.areUsual(from: first, of: record, isUTF16: isUTF16) { return .none }
    if hasZeroPage { return .certain }
    return ZeroSectors.areContent(from: first, of: record) ? .possible : .certain
  }
}

extension Finding {
  /// Returns the finding that rows of a leaf have lost bytes with a disk sector.
  package static func zeroSector(
    _ page: UInt32, _ place: PageReader.Place, _ table: String?
  ) -> Finding {
    Finding(
      .pageZeroSector, "values on this page are zero because the disk lost a sector",
      member: place.member, page: page, offset: place.offset, table: table)
  }
}
