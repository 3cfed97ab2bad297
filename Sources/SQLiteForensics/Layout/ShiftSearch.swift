import SQLiteFile

/// Finds out whether bytes were lost from the middle of a database file, or were inserted there. A file is examined
/// only if its length does not match the page count of the header, or is no multiple of the page size.
///
/// The keys on interior pages state which row ids each child page has, so the row ids of a leaf show its page number. A
/// shift is accepted on three conditions:
///
/// - The leaves before some offset are at their old offsets.
/// - The leaves after this offset have all moved by the same distance.
/// - Hardly any leaf contradicts this.
///
/// If the leaves do not decide, the root pages that the schema names decide (``RootWitnesses``). They are asked only if
/// the number of missing or additional bytes is a multiple of the page size.
struct ShiftSearch {
  private let file: ByteFile
  private let layout: FileLayout
  private let size: Int64

  init(_ file: ByteFile, _ layout: FileLayout) {
    self.file = file
    self.layout = layout
    size = Int64(layout.pageSize)
  }

  /// The minimum number of leaves that must prove a shift of pages, if the length of the file confirms the distance of
  /// the shift.
  private static let minProofs = 3
  /// The minimum number of leaves that prove a shift of pages if the length of the file does not confirm it. All these
  /// leaves must have moved by the same distance.
  private static let minProofsAlone = 12
  /// The minimum ratio of the leaves that agree with a shift of pages to the leaves that contradict it.
  private static let majority = 8
  private static let maxDistances = 4

  func find() throws(SQLiteFileError) -> PageShift? {
    guard layout.origin == 0, file.size > 2 * size else { return nil }
    let rest = file.size % size
    var due: Int64?
    if let header = layout.header, header.isPageCountValid {
      due = file.size - Int64(header.pageCount) * size
    }
    guard rest != 0 || (due ?? 0) != 0 else { return nil }
    let starts = rest == 0 ? [0] : [0, rest]
    let witnesses = try ShiftWitnesses(file, layout, starts: starts)
    let votes = witnesses.distances().filter { $0.key != 0 && $0.value >= Self.minProofs }
      .sorted { ($0.value, $0.key) > ($1.value, $1.key) }
    for (distance, _) in votes.prefix(Self.maxDistances) where abs(distance) < file.size {
      let isDue = distance == due || (due == nil && distance % size != 0)
      let minimum = isDue ? Self.minProofs : Self.minProofsAlone
      guard let bounds = split(by: distance, witnesses, minimum: minimum) else { continue }
      return try TornPages(file, layout, witnesses, distance).shift(
        between: bounds.lastOld, and: bounds.firstNew)
    }
    guard let due, due != 0, due % size == 0, rest == 0,
      let bounds = try RootWitnesses(file, layout, due)?.bounds()
    else { return nil }
    return PageShift(
      distance: due, place: Int64(bounds.lastOld) * size,
      doubtful: bounds.lastOld + 1..<bounds.firstNew, torn: [:])
  }

  /// Returns the last page known to be at its old offset (`lastOld`), and the first page known to be at its new offset
  /// (`firstNew`). Returns nil if the leaves contradict each other.
  ///
  /// `distance`: the number of bytes by which the later pages of the file have moved.
  /// `minimum`: the minimum number of leaves that must have moved.
  private func split(by distance: Int64, _ witnesses: ShiftWitnesses, minimum: Int) -> (
    lastOld: UInt32, firstNew: UInt32
  )? {
    let leaves = witnesses.leaves
    let old = leaves.map { witnesses.confirms($0, at: 0) }
    let new = leaves.map { witnesses.confirms($0, at: distance) }
    // Finds the split of `leaves` that most leaves agree with: the leaves before it are at old offsets, the others at
    // new offsets.
    var agreeing = new.count { $0 }
    var best = (agreeing: agreeing, first: 0)
    for index in leaves.indices {
      agreeing += (old[index] ? 1 : 0) - (new[index] ? 1 : 0)
      if agreeing > best.agreeing { best = (agreeing, index + 1) }
    }
    let proofs = new[best.first...].count { $0 }
    let contrary = old[best.first...].count { $0 }
    let early = new[..<best.first].count { $0 }
    guard proofs >= minimum, proofs >= Self.majority * contrary,
      old[..<best.first].count(where: { $0 }) >= Self.majority * early
    else { return nil }
    // Keys state the last row ids of most pages after the split. About half of these pages must be at their new
    // offsets.
    guard let first = new[best.first...].firstIndex(of: true),
      let firstNew = UInt32(exactly: (leaves[first].offset - distance) / size + 1)
    else { return nil }
    let lastNew = UInt32(clamping: (file.size - distance) / size)
    let named = witnesses.links.values.count {
      !$0.isLast && $0.page >= firstNew && $0.page <= lastNew
    }
    guard named <= 2 * proofs + 8, firstNew >= 2 else { return nil }
    let last = old[..<best.first].lastIndex(of: true)
    let lastOld = last.map { UInt32(clamping: leaves[$0].offset / size + 1) } ?? 1
    guard lastOld < firstNew else { return nil }
    return (lastOld, firstNew)
  }
}
