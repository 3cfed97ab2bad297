/// Which table each page is read for.
///
/// In an intact file no two tables share a page. In a small crafted file thousands of tables can lead to one page, and
/// its rows would be returned thousands of times. A page is therefore read for one table only: the table that has it as
/// its root page in the schema, else the first table that reaches it. The same applies to the overflow pages of its
/// rows.
///
/// Running scans, possibly on several threads, only look claims up. Each scan adds the pages it met when it ends, on
/// one thread.
package final class PageClaims {
  /// The number of the schema table itself.
  package static let schema: UInt32 = 1

  /// For each page the number of the table that owns it, 0 for none, in blocks of 4,096 pages. A block without an owned
  /// page is empty, because a sparse file may have any number of pages.
  private var owners: ContiguousArray<ContiguousArray<UInt32>>
  /// The owners of pages past the end of the main file, which only an overlay has.
  private var others: [UInt32: UInt32] = [:]
  private var names: [String] = ["sqlite_schema"]
  /// The bytes of payload that all tables together may still read beyond the capacity of their pages, and the bytes
  /// that each has read beyond it. Cells of damaged pages overlap.
  private var spare: Int
  private var taken: [UInt32: Int] = [:]

  /// - Parameters:
  ///   - pageCount: pages of the main file.
  ///   - spare: bytes of payload that may be read beyond the capacity of the pages.
  package init(pageCount: UInt32, spare: Int) {
    owners = ContiguousArray(repeating: [], count: Int(pageCount >> 12) + 1)
    self.spare = spare
  }

  /// The number of a table among the claims: 1 for the schema table, then from 2 on in the schema's order.
  package static func number(of table: Table) -> UInt32 {
    table.place.map { UInt32(clamping: $0 + 2) } ?? schema
  }

  /// Assigns each root page to a table; when the schema names several tables for one page, `choose` picks one.
  package func reserveRoots(
    of tables: [Table], _ choose: ([Table]) throws(SQLiteFileError) -> Table
  ) throws(SQLiteFileError) {
    names += tables.map(\.name)
    var shared: [UInt32: [Table]] = [:]
    for table in tables {
      let owner = self.owner(of: table.rootPage)
      if owner == 0 {
        set(table.rootPage, Self.number(of: table))
      } else if owner > Self.schema {
        shared[table.rootPage, default: [tables[Int(owner) - 2]]].append(table)
      }
    }
    for (root, candidates) in shared.sorted(by: { $0.key < $1.key }) {
      set(root, try Self.number(of: choose(candidates)))
    }
  }

  @inline(__always)
  private func owner(of page: UInt32) -> UInt32 {
    let block = Int(page >> 12)
    guard block < owners.count else { return others[page] ?? 0 }
    return owners[block].isEmpty ? 0 : owners[block][Int(page & 0xfff)]
  }

  private func set(_ page: UInt32, _ owner: UInt32) {
    let block = Int(page >> 12)
    guard block < owners.count else {
      others[page] = owner
      return
    }
    if owners[block].isEmpty { owners[block] = ContiguousArray(repeating: 0, count: 0x1000) }
    owners[block][Int(page & 0xfff)] = owner
  }

  /// Whether a page belongs to a table other than `table`; false for a page that belongs to none.
  @inline(__always)
  package func isOthers(_ page: UInt32, than table: UInt32) -> Bool {
    let owner = owner(of: page)
    return owner != 0 && owner != table
  }

  /// The name of the table that owns a page; empty when no table does.
  package func ownerName(of page: UInt32) -> String {
    let owner = Int(owner(of: page))
    return owner > 0 && owner <= names.count ? names[owner - 1] : ""
  }

  /// How many bytes of payload a table may read beyond the capacity of its pages.
  package func spare(of table: UInt32) -> Int { spare + (taken[table] ?? 0) }

  /// Records the pages that a scan of a table met, and how many bytes it read beyond their capacity.
  func settle(_ pages: borrowing PagesMet, of table: UInt32, beyond: Int) {
    pages.forEach { page in
      if owner(of: page) == 0 { set(page, table) }
    }
    let before = taken[table] ?? 0
    guard beyond > before else { return }
    taken[table] = beyond
    spare = max(0, spare - (beyond - before))
  }
}

/// Page numbers met by a scan. Up to 64 pages are kept as a list, so that a file with a hundred thousand small tables
/// does not need a bit set for each.
struct PagesMet: ~Copyable {
  private static let maxFew = 64
  private let pageCount: UInt32
  private var few: ContiguousArray<UInt32> = []
  private var many: PageSet?

  init(pageCount: UInt32) { self.pageCount = pageCount }

  /// Adds a page; returns false when it was already added.
  mutating func insert(_ page: UInt32) -> Bool {
    if many != nil { return many?.insert(page) ?? false }
    guard !few.contains(page) else { return false }
    few.append(page)
    if few.count > Self.maxFew {
      var set = PageSet(pageCount: pageCount)
      for page in few { _ = set.insert(page) }
      few = []
      many = set
    }
    return true
  }

  /// Calls `receive` with each page.
  func forEach(_ receive: (UInt32) -> Void) {
    if let many { many.forEach(receive) } else { few.forEach(receive) }
  }
}
