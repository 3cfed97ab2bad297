/// The formats of archives and compressed files that are recognized by their first bytes, but cannot be unpacked.
enum ForeignArchive: String, CaseIterable {
  case xz, bzip2, zstd
  case sevenZip = "7-Zip"
  case rar = "RAR"

  private var magic: [UInt8] {
    switch self {
    case .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]
    // In a bzip2 file, the fourth byte is the compression level, and the digits of pi follow.
    case .bzip2: [0x42, 0x5A, 0x68]
    case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
    case .sevenZip: [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]
    case .rar: [0x52, 0x61, 0x72, 0x21, 0x1A, 0x07]
    }
  }

  private static let pi: [UInt8] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]

  init?(lead: [UInt8]) {
    let found = Self.allCases.first { lead.starts(with: $0.magic) }
    guard let found, found != .bzip2 || lead.dropFirst(4).starts(with: Self.pi) else { return nil }
    self = found
  }

  var error: BundleError {
    BundleError(
      .unsupported,
      "the file is packed with \(rawValue), which is not supported; unpack the file first")
  }
}
