public import ArgumentParser
public import SQLiteFile
public import SQLiteForensics
public import StoreExtraction
public import Terminal

// The library targets declare these types, and options of commands have these types. On the command line, a value is
// given by its name.
extension ColorChoice: ExpressibleByArgument {}
extension SQLiteDatabase.LogView: ExpressibleByArgument {}
extension BlobForm: ExpressibleByArgument {}
extension StoreRebuild.Provenance: ExpressibleByArgument {}
extension CheckDepth: ExpressibleByArgument {}
extension ProgressMode: ExpressibleByArgument {}

/// The value of an option that takes a size in bytes, with or without a unit: `4096`, `500MB` (decimal), `1.5 GB`,
/// `2GiB` (binary).
struct ByteCount: ExpressibleByArgument, Equatable {
  let count: Int64

  init?(argument: String) {
    let text = argument.lowercased().unicodeScalars
    let digits = Substring(text.prefix { ("0"..."9").contains($0) || $0 == "." })
    let unit = Substring(text.dropFirst(digits.utf8.count).drop { $0 == " " })
    let factors: [String: Int64] = [
      "": 1, "b": 1, "k": 1000, "kb": 1000, "m": 1_000_000, "mb": 1_000_000, "g": 1_000_000_000,
      "gb": 1_000_000_000, "t": 1_000_000_000_000, "tb": 1_000_000_000_000, "kib": 1 << 10,
      "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
    ]
    guard let factor = factors[String(unit)] else { return nil }
    if let whole = Int64(digits) {
      let (count, overflow) = whole.multipliedReportingOverflow(by: factor)
      guard !overflow else { return nil }
      self.count = count
      return
    }
    guard factor > 1, let value = Double(digits), value >= 0, value * Double(factor) < 9e18 else {
      return nil
    }
    count = Int64(value * Double(factor))
  }
}
