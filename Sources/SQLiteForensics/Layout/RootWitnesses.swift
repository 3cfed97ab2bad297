import SQLiteFile

/// Finds out which root pages have moved because bytes were lost or inserted. For each root page, the bytes at its old
/// offset and the bytes at its new offset are compared with the schema. The schema states the page number and the kind
/// of each root page, and the declaration of a table limits which rows its root page can have. In a small database
/// hardly any page leads to another, so only root pages can show what has moved.
struct RootWitnesses {
  /// A root page, with the points (``Agreement``) for the page at its old offset and for the page at its new offset.
  private struct Root {
    let page: UInt32
    let old: Int
    let new: Int
  }

  private let roots: [Root]

  /// The points that a page gets when it is compared with the schema. The points of all root pages are added up.
  /// `against`: the page contradicts the schema.
  /// `kind`: only the kind of the page agrees with the schema.
  /// `row`: the first row of the page agrees with the schema, too.
  private enum Agreement {
    static let against = -2
    static let kind = 1
    static let row = 2
  }

  /// The minimum number of points by which the total at the new offsets must exceed the total at the old offsets.
  private static let minGain = 4
  private static let maxRoots = 4096

  /// Compares the pages at the old and the new offset of each root page with the schema. Returns nil if the file cannot
  /// be opened by its header.
  ///
  /// `distance`: the number of bytes by which later pages have moved; a multiple of the page size.
  init?(_ file: ByteFile, _ layout: FileLayout, _ distance: Int64) throws(SQLiteFileError) {
    guard let database = try? SQLiteDatabase(path: file.path, logView: .ignore) else { return nil }
    var tables: [UInt32: TableDefinition?] = [:]
    for table in database.schema.tables { tables[table.rootPage] = table.definition }
    var roots: [Root] = []
    for entry in database.schema.entries.prefix(Self.maxRoots) where entry.rootPage > 1 {
      let demands: FieldDemands?
      switch entry.type {
      case "table":
        guard case let definition?? = tables[entry.rootPage] else { continue }
        demands = definition.isWithoutRowID ? nil : FieldDemands(definition)
      case "index": demands = nil
      default: continue
      }
      let place = Int64(entry.rootPage - 1) * Int64(layout.pageSize)
      let new = try Self.agreement(file, layout, at: place + distance, demands)
      // A page past the end of the file says nothing about the pages before it.
      let isThere = place + Int64(layout.pageSize) <= file.size
      let old = isThere ? try Self.agreement(file, layout, at: place, demands) : new
      roots.append(Root(page: entry.rootPage, old: old, new: new))
    }
    self.roots = roots.sorted { $0.page < $1.page }
  }

  /// Compares the page at `offset` with the schema, and returns the points of the page (``Agreement``). `demands`: the
  /// constraints that the table's declaration sets on the fields of its rows; nil for an index or a WITHOUT ROWID
  /// table.
  private static func agreement(
    _ file: ByteFile, _ layout: FileLayout, at offset: Int64, _ demands: FieldDemands?
  ) throws(SQLiteFileError) -> Int {
    guard offset >= 0, offset < file.size else { return Agreement.against }
    let bytes = ContiguousArray(try file.bytes(at: offset, count: layout.pageSize))
    guard bytes.count == layout.pageSize, let kind = BTreePage.Kind(rawValue: bytes[0]),
      kind.isTable == (demands != nil)
    else { return Agreement.against }
    guard let demands, kind.isLeaf else { return Agreement.kind }
    var reading = LeafReading(
      usableSize: layout.usableSize, maxPayload: 1 << 31, encoding: layout.textEncoding)
    reading.read(bytes.rawSpan, number: 2, available: layout.pageSize, shape: nil)
    var types = RecordTypes()
    guard let cell = reading.cells.first, types.read(cell, bytes.rawSpan) else { return 0 }
    guard demands.allow(types) else { return Agreement.against }
    return types.types.count == demands.fields.count ? Agreement.row : 0
  }

  /// Returns the last root page that is at its old offset (`lastOld`), and the first root page that is at its new
  /// offset (`firstNew`). Returns nil if the root pages do not show that pages have moved.
  func bounds() -> (lastOld: UInt32, firstNew: UInt32)? {
    // `sums` has the total if all root pages are at their old offsets, then the total if the last root page is at its
    // new offset, then if the last two are, and so on.
    var sum = roots.reduce(0) { $0 + $1.old }
    let unshifted = sum
    var sums = [sum]
    for root in roots.reversed() {
      sum += root.new - root.old
      sums.append(sum)
    }
    guard let best = sums.max(), best >= unshifted + Self.minGain else { return nil }
    let counts = sums.indices.filter { sums[$0] == best }
    guard let fewest = counts.first, let most = counts.last, fewest > 0 else { return nil }
    let firstNew = roots[roots.count - fewest].page
    let lastOld = most == roots.count ? 1 : roots[roots.count - most - 1].page
    guard lastOld < firstNew, roots.suffix(fewest).allSatisfy({ $0.new >= 0 }),
      roots.dropLast(most).allSatisfy({ $0.old >= 0 })
    else { return nil }
    return (lastOld, firstNew)
  }
}
