import SafeText

/// What is left out of a bundle to keep to a limit on its size. A bundle never loses all of its rows, because it would
/// then be another kind of bundle.
struct SizeCut {
  /// The most rows that each entity or table keeps; nil for all.
  private(set) var rowsPerPart: Int?
  /// The external files that are left out: their sizes in bytes, by the names of their entries.
  private(set) var files: [String: UInt64] = [:]

  /// Whether an entry is one of the store's external files: only these lie below a folder beside the store.
  private static func isExternal(_ entryName: String) -> Bool {
    entryName.utf8.starts(with: "store/".utf8) && PathText.components(of: entryName).count > 2
  }

  /// Says what is left out, in sentences for the manifest.
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

  /// The next larger cut, when a bundle with this cut is still too large. External files are left out before rows, the
  /// largest first.
  ///
  /// - Parameters:
  ///   - entries: the entries of the bundle, with the sizes that they have in it.
  ///   - excess: by how many bytes the archive exceeds the limit.
  ///   - parts: the rows of each entity or table before any was left out.
  /// - Returns: nil when nothing more can be left out.
  func next(_ entries: [ZipReader.Entry], excess: UInt64, _ parts: [RowParts.Part]) -> SizeCut? {
    var cut = self
    // The sentences about the cut take room in the manifest.
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
    // The limit is lower each time, so that this ends.
    let most =
      rowsPerPart.map { $0 - max(1, $0 / 10) } ?? max(0, (parts.map(\.rowCount).max() ?? 0) - 1)
    // How many rows fit is an estimate, because rows differ in size. The last attempt keeps one row of each part.
    let fitting = max(1, RowParts.rowsPerPart(parts, within: Double(rows.size) * share))
    cut.rowsPerPart = min(most, fitting)
    return cut.rowsPerPart == 0 ? nil : cut
  }
}

extension BundleRequest {
  /// Packs a bundle within ``maxBytes``. If the whole bundle is too large, more and more is left out.
  ///
  /// - Returns: the bundle, its manifest, and what was left out because of the limit.
  /// - Throws: `bundle.overLimit` when even the least that can be packed is larger; otherwise as `MeasuredBundle`.
  func packed(
    _ plan: BundlePlan, for output: String?,
    progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }, isCancelled: () -> Bool,
    making: (String, () -> Bool) -> Void
  ) throws -> (manifest: BundleManifest, packed: PackedBundle, cut: [String]) {
    // The rows of each entity or table. They are counted only when a bundle turns out to be too large.
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
      // The bundle is packed even without an output: only a finished bundle has a size and can be searched.
      let packed = try measured.packed(
        for: output, level: level, encryption: encryption, progress: progress,
        isCancelled: isCancelled, making: making)
      guard let maxBytes, packed.sizeBytes > maxBytes else {
        return (measured.manifest, packed, sentences)
      }
      let counted = try parts ?? plan.rows.map { try RowParts.count(in: $0) } ?? []
      parts = counted
      let entries = try ZipReader(packed.file).entries
      // An armored bundle is a third larger than its entries.
      let growth = Double(packed.sizeBytes) / Double(max(1, packed.file.size))
      let excess = UInt64(Double(packed.sizeBytes - maxBytes) / max(1, growth)) + 1
      guard let next = cut.next(entries, excess: excess, counted) else {
        throw BundleError(
          .overLimit,
          "reduced as far as possible, the bundle has \(packed.sizeBytes) bytes, and the limit is \(maxBytes) bytes"
        )
      }
      cut = next
    }
  }
}
