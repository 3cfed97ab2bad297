package import SQLiteFile

/// A page of a database and what it is for.
package struct PageEntry: Sendable, Hashable {
  /// The page's number, 1 and up.
  package let page: UInt32
  /// The file that has the page's newest content.
  package let member: Finding.Member
  /// Where the content starts, in bytes from the start of that file.
  package let offset: Int64
  /// What the page is for.
  package let kind: PageKind
  /// The table or index that it belongs to; nil for free pages and the like.
  package let owner: String?
  /// The page that leads to it; nil for a root and for a page that nothing leads to.
  package let parent: UInt32?
  /// Cells of a b-tree page, pages that a freelist trunk lists; nil for other kinds.
  package let cellCount: Int?
  /// Free bytes of a b-tree page: the gap, freeblocks and fragments; nil for other kinds and where the page contradicts
  /// itself.
  package let freeBytes: Int?
}

/// A b-tree and the pages that belong to it.
package struct PageOwner: Sendable, Hashable, Codable {
  /// The name of the table or index.
  package let name: String
  /// The table that an index belongs to; its own name for a table.
  package let table: String
  /// Whether it is an index.
  package let isIndex: Bool
  /// The root page.
  package let rootPage: UInt32
  /// Pages of the b-tree itself.
  package internal(set) var treePages = 0
  /// Pages that hold the rest of long payloads.
  package internal(set) var overflowPages = 0
  /// Cells on all of its pages.
  package internal(set) var cells = 0
  /// Free bytes on b-tree pages.
  package internal(set) var freeBytes = 0
}

extension SQLiteDatabase {
  /// Lists what each page is for, in the order of page numbers.
  ///
  /// - Parameters:
  ///   - progress: called periodically with the number of pages checked so far.
  ///   - receive: called with each page.
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

  /// The page map after a walk of the whole database.
  func walkedMap(_ progress: ((Int) -> Void)?) throws(SQLiteFileError) -> (
    map: PageMap, owners: [PageOwner]
  ) {
    var check = StructureCheck(self, depth: .quick, onPages: progress)
    try check.run()
    let (map, owners) = check.finished()
    return (
      map,
      owners.map {
        PageOwner(name: $0.name, table: $0.table, isIndex: $0.isIndex, rootPage: $0.root)
      }
    )
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
  /// Free bytes: the gap between the pointers and the cells, the freeblocks and the fragments. Nil where the page's own
  /// figures contradict each other.
  func freeBytes(_ page: RawSpan) -> Int? {
    let start = pointers - (kind.isLeaf ? 8 : 12)
    let stored = Int(page.uint16(at: start + 5))
    let content = stored == 0 ? 65_536 : stored
    let pointersEnd = pointers + 2 * cellCount
    guard content >= pointersEnd, content <= usableSize else { return nil }
    var free = content - pointersEnd + Int(page.byte(at: start + 7))
    var chain = FreeblockChain(first: Int(page.uint16(at: start + 1)), usableSize: usableSize)
    while let block = chain.next(page) { free += block.size }
    return free <= usableSize && !chain.isBroken ? free : nil
  }
}
