import RowText

/// Counts and selects the rows of a bundle by entity or table. All rows of one entity or table are a part. The start of
/// each line names the entity or table.
enum RowParts {
  struct Part {
    var rowCount = 0
    /// The length, in bytes, of all lines of the part, including line feeds.
    var byteCount = 0
  }

  /// Counts the rows and bytes of each part. The parts are in no particular order.
  static func count(in rows: InputFile) throws -> [Part] {
    var parts: [[UInt8]: Part] = [:]
    try RowLines.forEach(in: rows) { line in
      let name = name(of: line)
      parts[name, default: Part()].rowCount += 1
      parts[name, default: Part()].byteCount += line.count + 1
      return true
    }
    return Array(parts.values)
  }

  /// Copies the first `limit` rows of each part into a new file. `dropped` is the number of rows that were not copied.
  static func first(_ limit: Int, of rows: InputFile) throws -> (rows: InputFile, dropped: Int) {
    let made = try ExclusiveOutput(unnamed: StoreBundle.rowsName)
    var output = OutputBuffer(descriptor: made.descriptor)
    var counts: [[UInt8]: Int] = [:]
    var dropped = 0
    try RowLines.forEach(in: rows) { line in
      let name = name(of: line)
      guard counts[name, default: 0] < limit else {
        dropped += 1
        return true
      }
      counts[name, default: 0] += 1
      output.append(Array(line))
      output.append(UInt8(ascii: "\n"))
      return !output.isBroken
    }
    try output.finish()
    return (try made.input(), dropped)
  }

  /// Returns the largest number N for which the first N rows of every part together have at most `byteCount` bytes. The
  /// computation assumes that all rows of a part have the same length.
  static func rowsPerPart(_ parts: [Part], within byteCount: Double) -> Int {
    func size(_ limit: Int) -> Double {
      parts.reduce(0) { sum, part in
        sum + Double(part.byteCount) * min(1, Double(limit) / Double(max(1, part.rowCount)))
      }
    }
    var (fits, tooMany) = (0, (parts.map(\.rowCount).max() ?? 0) + 1)
    while tooMany - fits > 1 {
      let middle = fits + (tooMany - fits) / 2
      if size(middle) <= byteCount { fits = middle } else { tooMany = middle }
    }
    return fits
  }

  /// Returns the start of a line, up to the end of the entity's or table's name, for example `{"entity":"Note"`. All
  /// lines with the same start are one part. Returns an empty array for a line of any other form.
  private static func name(of line: ArraySlice<UInt8>) -> [UInt8] {
    var quotes = 0
    var isEscaped = false
    for place in line.indices.prefix(1024) {
      switch line[place] {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\"): isEscaped = true
      case UInt8(ascii: "\""):
        quotes += 1
        if quotes == 4 { return Array(line[...place]) }
      default: break
      }
    }
    return []
  }
}
