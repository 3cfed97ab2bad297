import SQLiteFile

/// Searches for pages that the other checks do not reach: free pages if the header is lost, and b-trees if the schema
/// is lost.
struct UnreachedPages {
  private let last: UInt32

  init(upTo last: UInt32) { self.last = last }

  // MARK: - Free pages

  /// Claims the pages that the pointer map lists as free. If there is no pointer map, claims the pages that look like
  /// freelist trunks (file format, section 1.5), and the pages that these trunks list.
  /// - Returns: the number of claimed pages.
  func claimFree(
    _ map: PointerMap?, _ tree: inout BTreeCheck, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> Int {
    var freePages = 0
    for pages in unclaimed(tree) {
      for page in pages where tree.map[page].kind == .orphan {
        if let map, map.isPresent {
          guard try map.entry(of: page, &reader)?.kind == .free else { continue }
          _ = tree.map.claim(page, as: .freelistLeaf, owner: PageMap.noOwner, parent: 0)
          freePages += 1
        } else if let leaves = try trunk(page, tree, &reader) {
          _ = tree.map.claim(page, as: .freelistTrunk, owner: PageMap.noOwner, parent: 0)
          for leaf in leaves {
            _ = tree.map.claim(leaf, as: .freelistLeaf, owner: PageMap.noOwner, parent: page)
          }
          freePages += 1 + leaves.count
        }
      }
    }
    return freePages
  }

  /// Returns the pages that the freelist trunk `number` lists, in ascending order. Returns nil if page `number` does
  /// not look like a trunk. A trunk lists no page twice, and only pages of the file that are orphans.
  private func trunk(_ number: UInt32, _ tree: borrowing BTreeCheck, _ reader: inout PageReader)
    throws(SQLiteFileError) -> [UInt32]?
  {
    let usableSize = reader.usableSize
    guard let page = try reader.page(number), ![1, number].contains(page.uint32(at: 0)),
      let leaves = FreelistTrunk.leaves(page, usableSize: usableSize, pageCount: last)
    else { return nil }
    var met: Set<UInt32> = [number]
    for leaf in leaves {
      guard met.insert(leaf).inserted, tree.map[leaf].kind == .orphan else { return nil }
    }
    return leaves.sorted()
  }

  // MARK: - B-trees

  /// Walks the b-trees of a file without a schema. First starts at each unclaimed b-tree page that is not a child of
  /// another page, then at each b-tree page that is still unclaimed. Adds the counts of the b-trees to `report`. Damage
  /// never throws.
  func walk(
    _ tree: inout BTreeCheck, _ report: inout CheckReport, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    var children = PageSet(pageCount: last)
    for pages in unclaimed(tree) {
      for page in pages { try addChildren(of: page, to: &children, &reader) }
    }
    for pass in 0..<2 {
      for pages in unclaimed(tree) {
        for page in pages where tree.map[page].kind == .orphan {
          guard pass > 0 || !children.contains(page), try isTreePage(page, &reader) else {
            continue
          }
          let counts = try tree.run(
            BTreeCheck.Tree(
              name: "", number: PageMap.noOwner, root: page, isTable: nil, hasRows: false,
              rules: RecordRules()),
            &reader)
          let found = RecordCheck.findings(tree.records.takeTallies(), "", []).findings
          for finding in found { tree.findings.add(finding) }
          report.unnamedTreeCount += 1
          report.add(counts)
          if [.leafTable, .interiorTable].contains(tree.map[page].kind) {
            report.rowCount += counts.entries
          } else {
            report.indexEntryCount += counts.entries
          }
        }
      }
    }
  }

  private func unclaimed(_ tree: borrowing BTreeCheck) -> [ClosedRange<UInt32>] {
    var ranges: [ClosedRange<UInt32>] = []
    tree.map.orphans(upTo: last) { ranges.append($0) }
    return ranges
  }

  /// Whether a page is a b-tree page. The type byte alone is not enough: most cell pointers must be valid, or the page
  /// must be an empty leaf whose header says that the whole page is free.
  private func isTreePage(_ number: UInt32, _ reader: inout PageReader) throws(SQLiteFileError)
    -> Bool
  {
    let usableSize = reader.usableSize
    guard let page = try reader.page(number),
      let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize)
    else { return false }
    if header.cellCount == 0 {
      let start = header.pointers - 8
      return header.kind.isLeaf && page.uint16(at: start + 1) == 0 && page.byte(at: start + 7) == 0
        && Int(page.uint16(at: start + 5)) == usableSize & 0xffff
    }
    var sound = 0
    for index in 0..<header.cellCount where header.cellStart(page, index) != nil { sound += 1 }
    return sound * 2 > header.cellCount
  }

  private func addChildren(
    of number: UInt32, to children: inout PageSet, _ reader: inout PageReader
  ) throws(SQLiteFileError) {
    guard try isTreePage(number, &reader) else { return }
    let usableSize = reader.usableSize
    guard let page = try reader.page(number),
      let header = try? BTreePage(parsing: page, number: number, usableSize: usableSize),
      !header.kind.isLeaf
    else { return }
    func add(_ child: UInt32) {
      if child >= 2, child <= last, child != number { _ = children.insert(child) }
    }
    add(header.rightChild)
    for index in 0..<header.cellCount {
      guard let start = header.cellStart(page, index) else { continue }
      add(page.uint32(at: start))
    }
  }
}
