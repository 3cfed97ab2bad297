import SQLiteFile

/// Follows the freelist, and claims the pages on it in the page map (file format, section 1.5 "The Freelist").
enum FreelistCheck {
  /// Returns the number of pages on the freelist, including trunks.
  static func run(
    _ header: DatabaseHeader, upTo limit: UInt32, _ tree: inout BTreeCheck,
    _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Int {
    let headerPlace = reader.location(of: 1)
    let (pageCount, isWhole) = try walk(from: header.firstFreelistTrunk, limit, &tree, &reader)
    if isWhole, pageCount != Int(header.freelistPageCount) {
      tree.findings.add(
        Finding(
          .freelistBadCount,
          "the header counts \(header.freelistPageCount) free pages, but the freelist has \(pageCount)",
          member: headerPlace.member, page: 1, offset: headerPlace.offset + 36))
    }
    tree.count(pages: pageCount)
    return pageCount
  }

  /// Follows the chain of trunks, and claims the trunks and the pages that they list.
  /// - Returns: the number of claimed pages. `isWhole`: whether the chain was followed to its end, and every trunk page
  ///   in it is complete.
  private static func walk(
    from first: UInt32, _ limit: UInt32, _ tree: inout BTreeCheck, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> (pageCount: Int, isWhole: Bool) {
    let room = reader.usableSize / 4 - 2
    var trunk = first
    var previous: UInt32 = 0
    var pageCount = 0
    var isWhole = true
    while trunk != 0 {
      let place = reader.location(of: trunk)
      func add(_ id: Finding.ID, _ message: String, _ offset: Int = 0) {
        tree.findings.add(
          Finding(
            id, message, member: place.member, page: trunk, offset: place.offset + Int64(offset)))
      }
      guard trunk <= limit else {
        add(
          .freelistOutOfRange,
          "the freelist leads to page \(trunk), but the database has \(limit) pages")
        return (pageCount, false)
      }
      if let before = tree.map.claim(
        trunk, as: .freelistTrunk, owner: PageMap.noOwner, parent: previous)
      {
        add(
          before.kind == .freelistTrunk ? .freelistCycle : .pageReferencedTwice,
          before.kind == .freelistTrunk
            ? "the freelist leads back to this trunk"
            : "the freelist leads to this page, which is already in use as \(before.kind.words)")
        return (pageCount, false)
      }
      pageCount += 1
      // If the file ends within the trunk, only the page numbers before the end are used.
      let stored = min(reader.storedLength(of: trunk), reader.usableSize)
      var leaves: ContiguousArray<UInt32> = []
      let next: UInt32
      let count: Int
      do {
        guard let page = try reader.page(trunk) else {
          tree.map.change(trunk, to: .unreadable)
          add(.pageMissing, "the file ends before this page of the freelist")
          return (pageCount, false)
        }
        next = stored >= 4 ? page.uint32(at: 0) : 0
        count = Int(page.uint32(at: 4))
        // SQLite leaves the last six entries of a trunk empty, because versions before 3.6.0 call a file that uses
        // these entries corrupt. Readers must accept trunks that use these entries.
        for index in 0..<min(max(count, 0), room, max(0, stored - 8) / 4) {
          leaves.append(page.uint32(at: 8 + 4 * index))
        }
      }
      if stored < reader.usableSize {
        tree.findings.add(.cutPage(trunk, place, nil))
        if stored < 8 || count > leaves.count { isWhole = false }
      }
      if count > room {
        add(.freelistBadTrunk, "a freelist trunk lists \(count) pages, but has room for \(room)", 4)
      }
      var strays = 0
      var repeats = 0
      var firstStray: UInt32 = 0
      var firstRepeat: UInt32 = 0
      for leaf in leaves {
        guard leaf >= 1, leaf <= limit else {
          if strays == 0 { firstStray = leaf }
          strays += 1
          continue
        }
        // Page 1 is always in use. It is not claimed yet, because the schema table is read later.
        if leaf > 1,
          tree.map.claim(leaf, as: .freelistLeaf, owner: PageMap.noOwner, parent: trunk) == nil
        {
          pageCount += 1
        } else {
          if repeats == 0 { firstRepeat = leaf }
          repeats += 1
        }
      }
      if strays > 0 {
        add(
          .freelistOutOfRange,
          "a freelist trunk lists \(strays) pages that are not in the file; the first is page \(firstStray)"
        )
      }
      if repeats > 0 {
        add(
          .freelistDuplicate,
          "a freelist trunk lists \(repeats) pages that are in use or listed already; the first is page \(firstRepeat)"
        )
      }
      previous = trunk
      trunk = next
    }
    return (pageCount, isWhole)
  }
}
