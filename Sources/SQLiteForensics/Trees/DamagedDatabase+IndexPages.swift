import SQLiteFile

extension DamagedDatabase {
  /// Calls `receive` once for each readable page of an index b-tree (file format, section 1.6), until `receive` returns
  /// false. Interior pages come before their children.
  ///
  /// - Parameters:
  ///   - root: the number of the root page.
  ///   - met: the pages that earlier calls, for this index or another one, have visited. They are skipped, because a
  ///     page belongs to only one index. This call adds the pages that it visits.
  ///   - receive: receives the page number, the bytes of the page, and whether the page is an interior page.
  /// - Returns: false if `receive` returned false, otherwise true.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  func forEachIndexPage(
    below root: UInt32, _ met: inout PageSet,
    _ receive: (_ page: UInt32, _ bytes: RawSpan, _ isInterior: Bool) -> Bool
  ) throws(SQLiteFileError) -> Bool {
    guard met.insert(root) else { return true }
    var pending = [root]
    var buffer = ContiguousArray<UInt8>()
    while let page = pending.popLast() {
      let kind = census.kind(page)
      guard kind.isIndex, try reader.copy(page, into: &buffer) == layout.pageSize else { continue }
      let bytes = buffer.rawSpan
      if kind == .indexInterior {
        let count = min(Int(bytes.uint16(at: 3)), (layout.usableSize - 12) / 2)
        for place in 0...count {
          let start = place == count ? 8 : Int(bytes.uint16(at: 12 + 2 * place))
          guard start + 4 <= layout.usableSize else { continue }
          let child = bytes.uint32(at: start)
          if child <= pageCount, met.insert(child) { pending.append(child) }
        }
      }
      guard receive(page, bytes, kind == .indexInterior) else { return false }
    }
    return true
  }
}
