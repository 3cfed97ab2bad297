/// Records for which table each page is read.
///
/// In an intact file no two tables share a page. In a small malicious file, thousands of tables can have pointers to
/// one page, so that the rows of this page would be returned thousands of times. Each page is therefore read for one
/// table only: the table that has the page as its root page in the schema or, if no table has, the first table that
/// reaches the page. The same applies to the overflow pages of the rows.
///
/// While scans run, possibly on several threads, they only look up claims. When a scan ends, the pages that it has
/// visited are added by a single thread.
package final class PageClaims {
  package static let schema: UInt32 = 1

  /// For each page, the number of the table that has claimed the page; 0 for an unclaimed page. The numbers are in
  /// blocks of 4,096 pages. A block without claimed pages is empty, because a sparse file may have any number of pages.
  private var owners: ContiguousArray<ContiguousArray<UInt32>>
  /// For each page after the end of the main file, the number of the table that has claimed the page. Only the log or
  /// the journal contains such pages.
  private var others: [UInt32: UInt32] = [:]
  private var names: [String] = ["sqlite_schema"]
  /// The number of payload bytes that remain as a reserve for all tables together. A table uses the reserve if its
  /// payloads are longer than its pages, as in a damaged file whose cells overlap.
  private var spare: Int
  /// The number of payload bytes that were read in excess of the size of a table's pages, by table number. Of several
  /// scans of one table, the scan with the greatest number counts.
  private var taken: [UInt32: Int] = [:]

  /// - Parameters:
  ///   - pageCount: the number of pages in the main file.
  ///   - spare: the number of payload bytes that all tables together may read beyond the size of their pages.
  package init(pageCount: UInt32, spare: Int) {
    owners = ContiguousArray(repeating: [], count: Int(pageCount >> 12) + 1)
    self.spare = spare
  }

  /// Returns the number of a table: 1 for the schema table, and 2, 3 and so on for the other tables in the order of the
  /// schema.
  package static func number(of table: Table) -> UInt32 {
    table.place.map { UInt32(clamping: $0 + 2) } ?? schema
  }

  /// Assigns each root page to its table. If several tables have the same root page, `choose` selects one.
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

  /// Whether a page belongs to a table other than `table`. False for a page that belongs to no table.
  @inline(__always)
  package func isOthers(_ page: UInt32, than table: UInt32) -> Bool {
    let owner = owner(of: page)
    return owner != 0 && owner != table
  }

  /// Returns the name of the table that owns a page; empty when no table owns the page.
  package func ownerName(of page: UInt32) -> String {
    let owner = Int(owner(of: page))
    return owner > 0 && owner <= names.count ? names[owner - 1] : ""
  }

  /// Returns the number of payload bytes that a scan of a table may read beyond the total size of the table's pages.
  package func spare(of table: UInt32) -> Int { spare + (taken[table] ?? 0) }

  /// Records that the pages that a scan of a table has visited belong to this table. Pages of other tables are left
  /// out. `beyond`: the number of payload bytes that the scan has read in excess of the total size of `pages`.
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

/// The page numbers that a scan has visited. Up to 64 pages are stored in a list, so that a file with a hundred
/// thousand small tables does not need a bit set for each table.
struct PagesMet: ~Copyable {
  private static let maxFew = 64
  private let pageCount: UInt32
  private var few: ContiguousArray<UInt32> = []
  private var many: PageSet?

  init(pageCount: UInt32) { self.pageCount = pageCount }

  /// Adds a page. Returns false when the page was already added.
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

  func forEach(_ receive: (UInt32) -> Void) {
    if let many { many.forEach(receive) } else { few.forEach(receive) }
  }
}
