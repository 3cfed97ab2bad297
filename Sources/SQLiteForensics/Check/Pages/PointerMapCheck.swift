import SafeText
import SQLiteFile

/// Compares the pointer map of an auto-vacuum database (file format, section 1.8 "Pointer Map or Ptrmap Pages") with
/// the results of walking the b-trees.
enum PointerMapCheck {
  /// The number of pages that one pointer-map page describes.
  static func span(_ usableSize: Int) -> UInt32 { UInt32(usableSize / 5) }

  /// Returns the number of the page at the offset of 1 GiB, which never has content (file format, section 1.4).
  static func lockBytePage(_ pageSize: Int) -> UInt32 { UInt32(0x4000_0000 / pageSize) + 1 }

  /// Returns the number of the pointer-map page that describes `page`. Returns `page` if `page` is a pointer-map page
  /// itself, and 0 for page 1 (btree.c, ptrmapPageno).
  static func mapPage(of page: UInt32, usableSize: Int, pageSize: Int) -> UInt32 {
    guard page >= 2 else { return 0 }
    let length = span(usableSize) + 1
    let number = (page - 2) / length * length + 2
    return number == lockBytePage(pageSize) ? number + 1 : number
  }

  static func mapPages(upTo last: UInt32, usableSize: Int, pageSize: Int) -> [UInt32] {
    let length = Int(span(usableSize)) + 1
    return stride(from: 2, through: Int(last), by: length).map { number in
      let page = UInt32(number)
      return page == lockBytePage(pageSize) ? page + 1 : page
    }.filter { $0 <= last }
  }

  /// Compares the pointer-map entries of the pages up to `last` with the page map of `tree`. Adds one finding for each
  /// pointer-map page with wrong entries.
  static func run(
    upTo last: UInt32, _ tree: inout BTreeCheck, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    let usableSize = reader.usableSize
    let pageSize = reader.pageSize
    let length = span(usableSize)
    let lock = lockBytePage(pageSize)
    for number in mapPages(upTo: last, usableSize: usableSize, pageSize: pageSize) {
      let place = reader.location(of: number)
      let stored = min(reader.storedLength(of: number), usableSize)
      var wrong = 0
      var first = ""
      var firstOffset = 0
      var isMissing = false
      do {
        if let page = try reader.page(number) {
          var index: UInt32 = 0
          while index < length {
            defer { index &+= 1 }
            let (described, overflow) = number.addingReportingOverflow(index &+ 1)
            if overflow || described > last { break }
            if described == lock { continue }
            let offset = Int(index) &* 5
            guard offset &+ 5 <= stored else { break }
            let kind = page.byte(at: offset)
            let parent = page.uint32(at: offset &+ 1)
            let entry = tree.map[described]
            guard let wanted = expected(entry, tree.map),
              kind != wanted.kind || parent != wanted.parent
            else { continue }
            if wrong == 0 {
              first =
                "page \(described) is listed as type \(kind) with parent \(parent), but it is \(entry.kind.words) with parent \(entry.parent)"
              firstOffset = offset
            }
            wrong += 1
          }
        } else {
          isMissing = true
        }
      }
      if stored < usableSize { tree.findings.add(.cutPage(number, place, nil)) }
      if isMissing {
        tree.findings.add(
          Finding(
            .pageMissing, "the file ends before this pointer-map page", member: place.member,
            page: number, offset: place.offset))
      } else if wrong > 0 {
        tree.findings.add(
          Finding(
            .ptrmapBadEntry,
            counted(wrong, "entry", "entries")
              + " of the pointer map \(wrong == 1 ? "is" : "are") wrong: \(first)",
            member: place.member, page: number, offset: place.offset + Int64(firstOffset)))
      }
    }
  }

  /// Returns the type and the parent that the pointer map must state for a page. Returns nil if the use of the page is
  /// unknown, or if the pointer map does not describe the page.
  private static func expected(_ entry: PageMap.Entry, _ map: PageMap) -> (
    kind: UInt8, parent: UInt32
  )? {
    switch entry.kind {
    case .leafTable, .interiorTable, .leafIndex, .interiorIndex:
      entry.parent == 0 ? (1, 0) : (5, entry.parent)
    case .freelistTrunk, .freelistLeaf: (2, 0)
    case .overflow: (map[entry.parent].kind == .overflow ? 4 : 3, entry.parent)
    case .orphan, .unreadable, .pointerMap, .lockByte: nil
    }
  }
}
