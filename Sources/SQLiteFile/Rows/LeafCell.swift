/// A cell of a table leaf (file format, section 1.6, "Table B-Tree Leaf Cell"), as stored on its page.
@usableFromInline package struct LeafCell: BitwiseCopyable {
  /// The page offset of the cell's first byte.
  @usableFromInline package var start: Int
  /// The number of bytes of the cell that are on its page, including the overflow page number.
  @usableFromInline package var length: Int
  /// The row id; meaningless when ``hasRowID`` is false.
  @usableFromInline package var rowID: Int64
  /// The page offset of the record header.
  @usableFromInline package var record: Int
  /// The length of the payload in bytes, including bytes on overflow pages.
  @usableFromInline package var payload: Int
  /// The number of payload bytes that are on this page.
  @usableFromInline package var local: Int
  @usableFromInline package var hasRowID = true
  /// The number of serial types at the start of the record header that are lost; 0 for an intact cell. The remaining
  /// types start at ``record``.
  @usableFromInline package var lostTypes = 0
  /// The first serial type, inferred because it is lost. Set only if exactly one type is lost (``lostTypes`` is 1). If
  /// the type is 128 or more, it takes two bytes, and only the first byte is lost.
  @usableFromInline package var firstType: UInt64 = 0
  /// Whether the first four bytes of the cell are lost. ``record`` is then the offset of the first remaining serial
  /// type.
  @usableFromInline package var isStartLost = false
  /// The length of the record header, in bytes, if the header's first byte is lost; less than 128.
  @usableFromInline package var headerLength = 0
  /// Whether the record header contradicts itself, so that no value is certain.
  @usableFromInline package var isWrecked = false
  /// Whether the lengths of the record's values were added up and agree with the payload length.
  @usableFromInline package var isMeasured = false
  /// Whether the first serial type was guessed, and nothing confirms the guess.
  @usableFromInline package var isFirstDoubtful = false
  /// Whether nothing on the page confirms the end of this deleted cell: its last value may have been overwritten.
  @usableFromInline package var isEndDoubtful = false

  @inlinable package init(
    start: Int, length: Int, rowID: Int64, record: Int, payload: Int, local: Int,
    hasRowID: Bool = true, lostTypes: Int = 0, firstType: UInt64 = 0, isStartLost: Bool = false,
    headerLength: Int = 0, isWrecked: Bool = false, isMeasured: Bool = false,
    isFirstDoubtful: Bool = false, isEndDoubtful: Bool = false
  ) {
    self.start = start
    self.length = length
    self.rowID = rowID
    self.record = record
    self.payload = payload
    self.local = local
    self.hasRowID = hasRowID
    self.lostTypes = lostTypes
    self.firstType = firstType
    self.isStartLost = isStartLost
    self.headerLength = headerLength
    self.isWrecked = isWrecked
    self.isMeasured = isMeasured
    self.isFirstDoubtful = isFirstDoubtful
    self.isEndDoubtful = isEndDoubtful
  }

  @inlinable package var end: Int { start + length }
  package var spills: Bool { local < payload }

  /// Parses the cell at `start`. Returns nil unless all lengths in the cell are consistent.
  ///
  /// `limit`: the highest offset at which the cell may end. `maxPayload`: the maximum length of a payload that the file
  /// can contain. `longestHeader`: the maximum length of a record header that continues on overflow pages. Such a
  /// header is accepted without a check. `keepsTypes`: whether to store the serial types in `types`. Without storing,
  /// the check takes half the time.
  @inlinable @inline(__always)
  package static func parse(
    _ page: RawSpan, at start: Int, limit: Int, usableSize: Int, maxPayload: Int,
    longestHeader: Int = 0, keepsTypes: Bool = true, _ types: inout RecordTypes
  ) -> LeafCell? {
    guard let payload = Varint.read(page, at: start, end: limit), payload.value >= 2,
      payload.value <= UInt64(maxPayload)
    else { return nil }
    var offset = start &+ payload.length
    guard let key = Varint.read(page, at: offset, end: limit) else { return nil }
    offset &+= key.length
    let total = Int(payload.value)
    let local = BTreePage.localLength(payload: total, usableSize: usableSize, isTableLeaf: true)
    let spills = local < total
    guard offset &+ local &+ (spills ? 4 : 0) <= limit else { return nil }
    guard let header = Varint.read(page, at: offset, end: limit), header.value >= 2,
      header.value > UInt64(header.length)
    else { return nil }
    if header.value > UInt64(local) {
      guard header.value <= UInt64(longestHeader), spills, header.value <= payload.value else {
        return nil
      }
      return LeafCell(
        start: start, length: offset &- start &+ local &+ 4, rowID: Int64(bitPattern: key.value),
        record: offset, payload: total, local: local)
    }
    let headerEnd = offset &+ Int(header.value)
    let range = offset &+ header.length..<headerEnd
    guard keepsTypes ? types.read(page, range) : types.measure(page, range),
      types.bodyLength &+ Int(header.value) == total
    else { return nil }
    // SQLite pads a cell to at least four bytes.
    let length = max(4, offset &- start &+ local &+ (spills ? 4 : 0))
    guard start &+ length <= limit else { return nil }
    return LeafCell(
      start: start, length: length, rowID: Int64(bitPattern: key.value), record: offset,
      payload: total, local: local, isMeasured: true)
  }
}
