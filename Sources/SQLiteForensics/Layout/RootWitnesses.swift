import SQLiteFile

/// Decides whether the root pages of a file have moved, because bytes were lost or inserted. Each root page is looked
/// for at its old offset and at its new offset, and what is found there is compared with the schema. The schema states
/// the number and the kind of each root page, and the declaration of a table limits which rows its root page can have.
/// Only root pages are used, because in a small database hardly any page leads to another.
struct RootWitnesses {
  /// The page number of a root page, and two scores (``Agreement``): one for the bytes at the page's old offset, one
  /// for the bytes at its new offset.
  private struct Root {
    let page: UInt32
    let old: Int
    let new: Int
  }

  private let roots: [Root]

  /// The points that a page gets when it is compared with the schema.
  /// `against`: the page contradicts the schema.
  /// `kind`: the page has the right kind, and it has no rows to compare.
  /// `row`: the page has the right kind, and its first row agrees with the table's declaration.
  private enum Agreement {
    static let against = -2
    static let kind = 1
    static let row = 2
  }

  /// The minimum gain in points when root pages are read at their moved offsets instead of their usual offsets. With a
  /// smaller gain, nothing shows that pages have moved.
  private static let minGain = 4
  private static let maxRoots = 4096

  /// Compares two pages with the schema for each root page number in the schema: the page at the usual offset, and the
  /// page at this offset plus `distance`. Returns nil if the file cannot be opened by its header.
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

  /// Returns points that say how well the page at `offset` agrees with the schema (``Agreement``). `demands`: the
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

  /// Finds the root pages between which the moved part of the file begins. `lastOld` is the last root page at its usual
  /// offset, and `firstNew` is the first root page at a moved offset. Nil if the root pages do not show that pages have
  /// moved.
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
