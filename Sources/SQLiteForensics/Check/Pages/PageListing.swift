package import SQLiteFile

/// A page of a database and what it is used for.
package struct PageEntry: Sendable, Hashable {
  package let page: UInt32
  /// The file that has the newest content of the page, for example the main file or the write-ahead log.
  package let member: Finding.Member
  /// The offset of the page's content, in bytes from the start of ``member``.
  package let offset: Int64
  package let kind: PageKind
  /// The name of the table or index that the page belongs to; nil for a page outside all b-trees, for example a free
  /// page.
  package let owner: String?
  /// The page that leads to this page; nil for a root page and for a page that no page leads to.
  package let parent: UInt32?
  /// The number of cells on a b-tree page, or the number of pages that a freelist trunk lists; nil for any other page.
  package let cellCount: Int?
  /// The number of free bytes of a b-tree page: unallocated space, freeblocks and fragments. Nil for any other page,
  /// and for a page whose numbers contradict each other.
  package let freeBytes: Int?
}

/// A b-tree that the schema names, with the totals of its pages.
package struct PageOwner: Sendable, Hashable, Codable {
  package let name: String
  /// The name of the table that an index belongs to; for a table, the same as ``name``.
  package let table: String
  package let isIndex: Bool
  package let rootPage: UInt32
  /// The number of pages of the b-tree, without overflow pages.
  package internal(set) var treePages = 0
  package internal(set) var overflowPages = 0
  package internal(set) var cells = 0
  package internal(set) var freeBytes = 0
}

extension SQLiteDatabase {
  /// Lists what each page is used for, in the order of page numbers.
  ///
  /// - Parameters:
  ///   - progress: called periodically with the number of pages checked so far.
  ///   - receive: called with each page, in ascending order of page numbers.
  /// - Returns: the b-trees with their totals, in the order of the schema, tables before indexes.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func listPages(progress: ((Int) -> Void)? = nil, _ receive: (PageEntry) -> Void)
    throws(SQLiteFileError) -> [PageOwner]
  {
    let walked = try walkedMap(progress)
    var owners = walked.owners
    var reader = anotherReader()
    let last = min(pageCount, reader.pageLimit)
    var page: UInt32 = 1
    while page <= last {
      let entry = try Self.entry(page, walked.map, owners, &reader)
      receive(entry)
      let owner = walked.map[page].owner
      if owner != PageMap.noOwner, Int(owner) < owners.count {
        if entry.kind == .overflow {
          owners[Int(owner)].overflowPages += 1
        } else {
          owners[Int(owner)].treePages += 1
        }
        owners[Int(owner)].cells += entry.cellCount ?? 0
        owners[Int(owner)].freeBytes += entry.freeBytes ?? 0
      }
      if page == .max { break }
      page += 1
    }
    return owners
  }

  /// Walks all b-trees of the database. Returns a map of the pages, and the b-trees in the order of their numbers in
  /// this map. The page counts of the returned b-trees are still 0.
  func walkedMap(_ progress: ((Int) -> Void)?) throws(SQLiteFileError) -> (
    map: PageMap, owners: [PageOwner]
  ) {
    var check = StructureCheck(self, depth: .quick, onPages: progress)
    try check.run()
    return check.finished()
  }

  static func entry(
    _ number: UInt32, _ map: PageMap, _ owners: [PageOwner], _ reader: inout PageReader
  ) throws(SQLiteFileError) -> PageEntry {
    let place = reader.location(of: number)
    let known = map[number]
    var cellCount: Int?
    var freeBytes: Int?
    let usableSize = reader.usableSize
    switch known.kind {
    case .leafTable, .interiorTable, .leafIndex, .interiorIndex:
      if let page = try reader.page(number),
        let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize)
      {
        cellCount = header.cellCount
        freeBytes = header.freeBytes(page)
      }
    case .freelistTrunk:
      if let page = try reader.page(number) {
        cellCount = min(Int(page.uint32(at: 4)), usableSize / 4 - 2)
      }
    default: break
    }
    return PageEntry(
      page: number, member: place.member, offset: place.offset, kind: known.kind,
      owner: Int(known.owner) < owners.count ? owners[Int(known.owner)].name : nil,
      parent: known.parent == 0 ? nil : known.parent, cellCount: cellCount, freeBytes: freeBytes)
  }
}

extension BTreePage {
  /// Returns the number of free bytes of a b-tree page: unallocated space, freeblocks and fragments. Returns nil if the
  /// numbers on the page contradict each other.
  func freeBytes(_ page: RawSpan) -> Int? {
    let start = pointers - (kind.isLeaf ? 8 : 12)
    let content = BTreePage.contentStart(page, start)
    let pointersEnd = pointers + 2 * cellCount
    guard content >= pointersEnd, content <= usableSize else { return nil }
    var free = content - pointersEnd + Int(page.byte(at: start + 7))
    var chain = FreeblockChain(first: Int(page.uint16(at: start + 1)), usableSize: usableSize)
    while let block = chain.next(page) { free += block.size }
    return free <= usableSize && !chain.isBroken ? free : nil
  }
}
