import SQLiteFile

/// Finds out whether bytes were lost or put in in the middle of a file.
///
/// Only a file whose length is not what its header or whole pages make it is looked at. Then all leaves are asked
/// which pages they are by the row ids that interior pages give these. A shift is one only where leaves before some
/// place are at their old places, those behind it all are as far away from theirs, and next to none contradicts. Where
/// leaves do not tell and whole pages are missing, or too many, the roots that the schema names are asked.
struct ShiftSearch {
  private let file: ByteFile
  private let layout: FileLayout
  private let size: Int64

  init(_ file: ByteFile, _ layout: FileLayout) {
    self.file = file
    self.layout = layout
    size = Int64(layout.pageSize)
  }

  /// Leaves at new places, where the file is longer or shorter by just that distance.
  private static let leastProofs = 3
  /// Leaves at new places by which a distance is believed that the file's length does not confirm.
  private static let leastProofsAlone = 12
  /// For one leaf that contradicts, so many must agree.
  private static let majority = 8
  private static let mostDistances = 4

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
    let votes = witnesses.distances().filter { $0.key != 0 && $0.value >= Self.leastProofs }
      .sorted { ($0.value, $0.key) > ($1.value, $1.key) }
    for (distance, _) in votes.prefix(Self.mostDistances) where abs(distance) < file.size {
      let isDue = distance == due || (due == nil && distance % size != 0)
      let least = isDue ? Self.leastProofs : Self.leastProofsAlone
      guard let bounds = split(by: distance, witnesses, least: least) else { continue }
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

  /// The last page that is known to be at its old place and the first one that is known to be at its new one; nil unless
  /// leaves agree about it.
  private func split(by distance: Int64, _ witnesses: ShiftWitnesses, least: Int) -> (
    lastOld: UInt32, firstNew: UInt32
  )? {
    let leaves = witnesses.leaves
    let old = leaves.map { witnesses.confirms($0, at: 0) }
    let new = leaves.map { witnesses.confirms($0, at: distance) }
    // Where most agree: those before it are at their old places, those behind it at the new ones.
    var agreeing = new.count { $0 }
    var best = (agreeing: agreeing, first: 0)
    for index in leaves.indices {
      agreeing += (old[index] ? 1 : 0) - (new[index] ? 1 : 0)
      if agreeing > best.agreeing { best = (agreeing, index + 1) }
    }
    let proofs = new[best.first...].count { $0 }
    let contrary = old[best.first...].count { $0 }
    let early = new[..<best.first].count { $0 }
    guard proofs >= least, proofs >= Self.majority * contrary,
      old[..<best.first].count(where: { $0 }) >= Self.majority * early
    else { return nil }
    // Of pages behind the place that have a last row id most must have been met.
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
