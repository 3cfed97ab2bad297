import SafeText

/// The parts that are left out of a bundle so that the bundle does not exceed a size limit. At least one row of each
/// entity or table stays in a bundle with rows, because a bundle without rows would be another kind of bundle.
struct SizeCut {
  /// The maximum number of rows that are kept of each entity or table; nil for all rows.
  private(set) var rowsPerPart: Int?
  /// The external data files that are left out. The key is the name of the entry, and the value is the uncompressed
  /// size of the entry in bytes.
  private(set) var files: [String: UInt64] = [:]

  /// Whether an entry is an external data file of the store. In a bundle, only external data files are in a subfolder
  /// of `store/`.
  private static func isExternal(_ entryName: String) -> Bool {
    entryName.utf8.starts(with: "store/".utf8) && PathText.components(of: entryName).count > 2
  }

  /// Returns sentences for the manifest about the rows and files that are left out so that the bundle has at most
  /// `maxBytes` bytes.
  func sentences(droppedRowCount: Int, _ maxBytes: UInt64) -> [String] {
    var sentences: [String] = []
    let why = "so that the bundle has at most \(maxBytes) bytes"
    if let rowsPerPart {
      sentences.append(
        "Rows after the first \(rowsPerPart) of each entity or table, \(why): \(droppedRowCount).")
    }
    if !files.isEmpty {
      sentences.append(
        "The largest external files of the store, \(why): \(files.count), with \(files.values.reduce(0, +)) bytes."
      )
    }
    return sentences
  }

  /// Returns the cut to try next if a bundle with this cut is still too large. External data files are left out first,
  /// beginning with the largest; then rows are left out.
  ///
  /// - Parameters:
  ///   - entries: the entries of the bundle, with their compressed sizes.
  ///   - excess: the number of bytes by which the archive exceeds the limit.
  ///   - parts: the numbers of rows and bytes of each entity or table, before any rows were left out.
  /// - Returns: the next cut; nil when nothing more can be left out.
  func next(_ entries: [ZipReader.Entry], excess: UInt64, _ parts: [RowParts.Part]) -> SizeCut? {
    var cut = self
    // The sentences about the cut make the manifest longer; 512 bytes are reserved for them.
    var excess = excess + 512
    for entry in entries.filter({ Self.isExternal($0.name) })
      .sorted(by: { ($1.compressedSize, $0.name) < ($0.compressedSize, $1.name) })
    where excess > 0 {
      cut.files[entry.name] = entry.size
      excess -= min(excess, entry.compressedSize)
    }
    if cut.files.count > files.count { return cut }
    guard let rows = entries.first(where: { $0.name == StoreBundle.rowsName }) else { return nil }
    let share = 1 - min(1, Double(excess) / Double(max(1, rows.compressedSize)))
    // Each attempt keeps fewer rows than the attempt before, so the attempts come to an end.
    let most =
      rowsPerPart.map { $0 - max(1, $0 / 10) } ?? max(0, (parts.map(\.rowCount).max() ?? 0) - 1)
    // The number of rows that fit is an estimate, because rows differ in size. The last attempt keeps one row of each
    // part.
    let fitting = max(1, RowParts.rowsPerPart(parts, within: Double(rows.size) * share))
    cut.rowsPerPart = min(most, fitting)
    return cut.rowsPerPart == 0 ? nil : cut
  }
}

extension BundleRequest {
  /// Packs a bundle of at most ``maxBytes`` bytes. As long as the bundle is too large, more of its rows or external
  /// data files are left out, and the bundle is packed again.
  ///
  /// - Returns: the manifest, the packed bundle, and in `cut` the sentences that say what was left out because of the
  ///   limit.
  /// - Throws: `bundle.overLimit` when the smallest possible bundle is still too large; the errors of `MeasuredBundle`.
  func packed(
    _ plan: BundlePlan, for output: String?,
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }, isCancelled: () -> Bool,
    making: (String, () -> Bool) -> Void
  ) throws -> (manifest: BundleManifest, packed: PackedBundle, cut: [String]) {
    // The rows are counted only if a bundle turns out to be too large.
    var parts: [RowParts.Part]?
    var cut = SizeCut()
    while true {
      var rows: InputFile?
      var dropped = 0
      if let limit = cut.rowsPerPart, let all = try plan.rows {
        (rows, dropped) = try RowParts.first(limit, of: all)
      }
      var smaller = plan.with(rows: rows, without: Set(cut.files.keys))
      let sentences = cut.sentences(droppedRowCount: dropped, maxBytes ?? 0)
      sentences.forEach { smaller.withhold($0) }
      let measured = try smaller.measured(isCancelled: isCancelled)
      // Even if `output` is nil, the bundle is packed, because only a finished bundle has a size and can be searched.
      let packed = try measured.packed(
        for: output, level: level, encryption: encryption, progress: progress,
        isCancelled: isCancelled, making: making)
      guard let maxBytes, packed.sizeBytes > maxBytes else {
        return (measured.manifest, packed, sentences)
      }
      let counted = try parts ?? plan.rows.map { try RowParts.count(in: $0) } ?? []
      parts = counted
      let entries = try ZipReader(packed.file).entries
      // The encrypted bundle is larger than the archive, by a third if it is armored. So the excess is converted into
      // bytes of the archive.
      let growth = Double(packed.sizeBytes) / Double(max(1, packed.file.size))
      let excess = UInt64(Double(packed.sizeBytes - maxBytes) / max(1, growth)) + 1
      guard let next = cut.next(entries, excess: excess, counted) else {
        throw BundleError(
          .overLimit,
          "the bundle was made as small as possible, but has \(packed.sizeBytes) bytes, and the "
            + "limit is \(maxBytes) bytes"
        )
      }
      cut = next
    }
  }
}
