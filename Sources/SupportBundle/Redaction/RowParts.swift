import RowText

/// Divides the rows of a bundle into parts, and counts and selects rows in each part. A part consists of all rows of
/// one entity or table, which the start of each line names.
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

  /// Copies at most `limit` rows of each entity or table into a new file. `dropped` is the number of rows that were not
  /// copied.
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

  /// Returns the largest number of rows per part with which the bundle's rows fit into `byteCount` bytes. It is assumed
  /// that all rows of a part have the same length.
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

  /// Returns the beginning of a line up to the end of the entity's or table's name, for example `{"entity":"Note"`. All
  /// lines of one entity or table begin in the same way. Empty for a line of another form.
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
