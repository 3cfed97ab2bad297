import Foundation

extension WALFile {
  /// A frame for ``write(_:pageSize:to:)``.
  public struct NewFrame: Sendable {
    let page: UInt32
    let commit: UInt32
    let content: [UInt8]

    /// Creates a frame. `page` is the number of the page. `commit` is the size of the database in pages if the frame
    /// ends a transaction, else 0.
    public init(page: UInt32, commit: UInt32, content: [UInt8]) {
      self.page = page
      self.commit = commit
      self.content = content
    }
  }

  /// Writes a log with correct salts and checksums. The page numbers need not make sense.
  public static func write(_ frames: [NewFrame], pageSize: Int, to path: String) throws {
    var sum: (UInt32, UInt32) = (0, 0)
    func add(_ bytes: [UInt8]) {
      for start in stride(from: 0, to: bytes.count, by: 8) {
        let words = [start, start + 4].map { at in
          (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[at + $1]) }
        }
        sum.0 &+= words[0] &+ sum.1
        sum.1 &+= words[1] &+ sum.0
      }
    }
    var bytes = [0x377f_0683, 3_007_000, UInt32(pageSize), 0, 1, 2].flatMap(\.bigEndianBytes)
    add(bytes)
    bytes += [sum.0, sum.1].flatMap(\.bigEndianBytes)
    for frame in frames {
      let start = [frame.page, frame.commit].flatMap(\.bigEndianBytes)
      add(start + frame.content)
      bytes += start + [1, 2, sum.0, sum.1].flatMap(\.bigEndianBytes) + frame.content
    }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}
